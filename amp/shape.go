package amp

import "strconv"

// kind is the type of a JSON value, in words.
type kind string

const (
	isObject  kind = "object"
	isArray   kind = "array"
	isString  kind = "string"
	isInteger kind = "integer"
	isNumber  kind = "number"
	isBool    kind = "boolean"
)

// shape is the structure that a value must have. Shapes say which members there are and of which JSON type; what the values may be
// is said by the validators.
type shape struct {
	kind     kind
	nullable bool
	elem     *shape
	members  []member
	// free objects take any members.
	free bool
}

// member is one member of an object: a wrong type breaks rule, its absence breaks missing.
type member struct {
	name     string
	rule     string
	missing  string
	optional bool
	shape    *shape
}

var (
	aString    = &shape{kind: isString}
	anInteger  = &shape{kind: isInteger}
	aNumber    = &shape{kind: isNumber}
	aBool      = &shape{kind: isBool}
	triState   = &shape{kind: isBool, nullable: true}
	freeForm   = &shape{kind: isObject, free: true}
	stringList = listOf(aString)
)

func listOf(s *shape) *shape          { return &shape{kind: isArray, elem: s} }
func object(members ...member) *shape { return &shape{kind: isObject, members: members} }
func need(name, rule string, s *shape) member {
	return member{name: name, rule: rule, missing: rule, shape: s}
}

func allow(name, rule string, s *shape) member {
	return member{name: name, rule: rule, optional: true, shape: s}
}

// lacking names the rule that a missing required member breaks, where one rule lists them all.
func lacking(rule string, members ...member) []member {
	for i := range members {
		members[i].missing = rule
	}
	return members
}

func envelopeWith(payload *shape) *shape {
	return object(lacking("AMP-010",
		need("msg_id", "AMP-011", aString),
		need("protocol_version", "AMP-015", aString),
		need("type", "AMP-017", aString),
		need("from", "AMP-018", aString),
		need("to", "AMP-019", aString),
		need("task_id", "AMP-020", aString),
		need("timestamp", "AMP-022", aString),
		need("requires_ack", "AMP-023", aBool),
		allow("ack_timeout_sec", "AMP-027", anInteger),
		allow("context_ref", "AMP-028", stringList),
		need("payload", "AMP-030", payload),
	)...)
}

var envelopeShape = envelopeWith(freeForm)

var messageShapes = map[MessageType]*shape{
	TaskDispatch: envelopeWith(object(
		need("description", "AMP-044", aString),
		need("repo", "AMP-045", aString),
		need("branch", "AMP-047", aString),
		need("subtasks", "AMP-050", listOf(object(
			need("subtask_id", "AMP-051", aString),
			need("description", "AMP-051", aString),
			member{name: "estimated_lines", rule: "AMP-053", missing: "AMP-051", shape: anInteger},
		))),
		need("acceptance_criteria", "AMP-055", stringList),
		need("risk_level", "AMP-058", aString),
		allow("forbidden_actions", "AMP-061", stringList),
		allow("tech_constraints", "AMP-062", freeForm),
	)),
	TaskResult: envelopeWith(object(
		need("subtask_id", "AMP-073", aString),
		need("completion_status", "AMP-074", aString),
		need("diff_summary", "AMP-075", object(
			need("files_changed", "AMP-075", stringList),
			need("lines_added", "AMP-075", anInteger),
			need("lines_removed", "AMP-075", anInteger),
		)),
		need("self_assessment", "AMP-077", object(
			need("criteria_met", "AMP-077", listOf(triState)),
			need("notes", "AMP-077", stringList),
		)),
		need("work_log", "AMP-082", listOf(object(
			need("timestamp", "AMP-082", aString),
			need("action", "AMP-082", aString),
			need("file", "AMP-082", aString),
			need("detail", "AMP-082", aString),
		))),
		allow("commit_hash", "AMP-084", aString),
		allow("blockers", "AMP-085", stringList),
	)),
	ReviewRequest: envelopeWith(object(
		need("original_dispatch_ref", "AMP-103", aString),
		need("task_result_ref", "AMP-104", aString),
		need("review_scope", "AMP-106", aString),
		need("diff_url", "AMP-108", aString),
		need("reject_count", "AMP-109", anInteger),
		allow("coordinator_notes", "AMP-110", aString),
		allow("ci_status", "AMP-111", freeForm),
	)),
	ReviewVerdict: envelopeWith(object(
		need("decision", "AMP-123", aString),
		need("criteria_results", "AMP-125", listOf(object(
			need("criterion", "AMP-125", aString),
			need("passed", "AMP-125", triState),
			need("evidence", "AMP-125", aString),
		))),
		allow("issues", "AMP-127", listOf(object(
			member{name: "severity", rule: "AMP-129", missing: "AMP-128", shape: aString},
			need("file", "AMP-128", aString),
			need("line", "AMP-128", anInteger),
			need("description", "AMP-128", aString),
			need("suggested_fix", "AMP-128", aString),
		))),
		allow("direct_fixes", "AMP-131", listOf(object(
			need("file", "AMP-131", aString),
			member{name: "change_type", rule: "AMP-132", missing: "AMP-131", shape: aString},
			member{name: "diff_lines", rule: "AMP-133", missing: "AMP-131", shape: anInteger},
		))),
		allow("architecture_notes", "AMP-135", aString),
		need("confidence", "AMP-136", aNumber),
	)),
	EscalationMsg: envelopeWith(object(lacking("AMP-153",
		need("escalation_type", "AMP-154", aString),
		need("severity", "AMP-155", aString),
		need("triggered_by", "AMP-157", aString),
		need("description", "AMP-158", aString),
		need("affected_msgs", "AMP-159", stringList),
		need("system_state_snapshot", "AMP-160", object(
			need("task_status", "AMP-160", aString),
			need("reject_count", "AMP-160", anInteger),
			need("last_successful_msg_id", "AMP-160", aString),
		)),
		allow("suggested_actions", "AMP-161", stringList),
		need("auto_suspended", "AMP-163", aBool),
	)...)),
}

// find is the index of the member with this name, or -1. next is where it is looked for first: members mostly come in order.
func (s *shape) find(name []byte, next int) int {
	for i := range s.members {
		m := (next + i) % len(s.members)
		if s.members[m].name == string(name) {
			return m
		}
	}
	return -1
}

// maxInteger is the largest integer that every JSON reader keeps exactly.
const maxInteger = 1<<53 - 1

// number says what is wrong with a number for the shape, or "".
func (s *shape) number(raw []byte) string {
	switch s.kind {
	case isInteger:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err != nil || n > maxInteger || n < -maxInteger {
			return "is " + clip(string(raw), 40) + ", expected an integer"
		}
	case isNumber:
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
			return "is " + clip(string(raw), 40) + ", too large a number"
		}
	default:
	}
	return ""
}

// zero is what stands in the place of a value of the wrong type.
func (s *shape) zero() string {
	switch {
	case s.nullable:
		return "null"
	case s.kind == isObject:
		return "{}"
	case s.kind == isArray:
		return "[]"
	case s.kind == isString:
		return `""`
	case s.kind == isBool:
		return "false"
	}
	return "0"
}

// shapeOf is the shape of a message of this type; of an unknown type the payload is free.
func shapeOf(t MessageType) *shape {
	if s := messageShapes[t]; s != nil {
		return s
	}
	return envelopeShape
}
