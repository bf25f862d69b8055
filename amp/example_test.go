package amp_test

import (
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
)

func ExampleDecode() {
	_, warnings, err := amp.Decode([]byte(`{
		"msg_id": "task_result-T-2026-044-1740576727001",
		"protocol_version": "AMP/1.0",
		"type": "task_result",
		"from": "executor",
		"to": "coordinator",
		"task_id": "T-2026-044",
		"timestamp": "2026-02-26T14:32:07+00:00",
		"requires_ack": true,
		"priority": "high",
		"payload": {
			"subtask_id": "T-2026-044-S1",
			"completion_status": "partial",
			"diff_summary": {"files_changed": ["scan.go"], "lines_added": "68", "lines_removed": 24},
			"self_assessment": {"criteria_met": [true, null], "notes": ["measured", "needs a device"]},
			"work_log": []
		}
	}`))
	if inv, ok := errors.AsType[*amp.InvalidError](err); ok {
		for _, p := range inv.Problems {
			fmt.Println(p)
		}
	}
	for _, w := range warnings {
		fmt.Println("warning:", w)
	}
	// Output:
	// payload.diff_summary.lines_added: is a string, expected an integer (AMP-075)
	// payload.blockers: is required when completion_status is partial: say what blocks the work (AMP-085)
	// warning: priority: is an unknown name; it is kept and not used (AMP-031)
}

func ExampleNewMsgID() {
	now := time.UnixMilli(1740576727001)
	journal := map[string]bool{"task_dispatch-T-2026-044-1740576727001": true}
	fmt.Println(amp.NewMsgID(amp.TaskDispatch, "T-2026-044", now, func(id string) bool { return journal[id] }))
	fmt.Println(amp.NewMsgID(amp.TaskResult, "T-2026-044", now, func(id string) bool { return journal[id] }))
	// Output:
	// task_dispatch-T-2026-044-1740576727002
	// task_result-T-2026-044-1740576727001
}

func ExampleEncode() {
	m := &amp.Message{
		ProtocolVersion: amp.Version, Type: amp.EscalationMsg, From: amp.Executor, To: amp.Admin, TaskID: "T-2026-044",
		Timestamp: "2026-02-26T14:32:07Z",
		Payload: &amp.Escalation{
			EscalationType: amp.UnknownEscalation, Severity: amp.Warning, TriggeredBy: amp.Executor,
			Description:         "The test device is gone. Plug it in, or end the task.",
			SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing}, AutoSuspended: true,
		},
	}
	m.MsgID = amp.NewMsgID(m.Type, m.TaskID, time.UnixMilli(1740576727001), nil)
	data, err := amp.Encode(m)
	fmt.Println(string(data), err)
	// Output:
	// {"msg_id":"escalation-T-2026-044-1740576727001","protocol_version":"AMP/1.0","type":"escalation","from":"executor","to":"admin","task_id":"T-2026-044","timestamp":"2026-02-26T14:32:07Z","requires_ack":false,"payload":{"escalation_type":"unknown","severity":"warning","triggered_by":"executor","description":"The test device is gone. Plug it in, or end the task.","affected_msgs":[],"system_state_snapshot":{"task_status":"executing","reject_count":0,"last_successful_msg_id":""},"auto_suspended":true}} <nil>
}

func ExampleSchema() {
	fmt.Println(amp.SchemaNames())
	data, err := amp.Schema("task_result")
	fmt.Println(len(data) > 0, err)
	// Output:
	// [message@1.0 envelope@1.0 task_dispatch@1.0 task_result@1.0 review_request@1.0 review_verdict@1.0 escalation@1.0]
	// true <nil>
}
