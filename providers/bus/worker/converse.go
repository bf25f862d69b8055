package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/providers/bus"
)

// pingTime is how often an open connection is tried, and how long an answer may take.
const pingTime = 20 * time.Second

// converse registers an agent, opens its socket and takes what comes until that breaks.
func (w *Worker) converse(ctx context.Context, agent, name string) error {
	if err := w.link(agent).register(ctx, agent, w.descriptor(agent, name)); err != nil {
		return fmt.Errorf("register %s: %w", agent, err)
	}
	c, err := w.link(agent).socket(ctx, agent)
	if err != nil {
		return fmt.Errorf("connect %s: %w", agent, err)
	}
	defer c.CloseNow() //nolint:errcheck // it is closed either way
	whole := ctx       // of the worker: what is taken does not end with this connection
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.cfg.Logger.Info("connected", "agent", agent, "url", w.cfg.URL)
	w.look()
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(w.beat(ctx, c, agent))
	}()
	for err == nil {
		var raw []byte
		if _, raw, err = c.Read(ctx); err == nil {
			// the coordinator believes that a message was delivered when its ping is answered, which the next read does
			if err = w.take(whole, agent, raw); err != nil {
				w.broken(err)
			}
		}
	}
	cancel(err)
	<-done
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	if websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
		err = &statusError{403, err.Error()}
	}
	return err
}

// beat sends heartbeats, and finds out whether the other side is still there.
func (w *Worker) beat(ctx context.Context, c *websocket.Conn, agent string) error {
	tick := time.NewTicker(min(pingTime, w.cfg.Beat))
	defer tick.Stop()
	last := time.Time{}
	for {
		if time.Since(last) >= w.cfg.Beat {
			if err := w.link(agent).send(ctx, w.heartbeat(agent)); err != nil && !refused(err) {
				return err
			}
			last = time.Now()
		}
		ping, cancel := context.WithTimeout(ctx, pingTime)
		err := c.Ping(ping)
		cancel()
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// descriptor is an agent as it registers.
func (w *Worker) descriptor(agent, name string) []byte {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	raw, err := json.Marshal(map[string]any{
		"agent_descriptor": map[string]any{
			"agent_id": agent, "framework": "worker", "capabilities": w.cfg.Agents[name].Roles,
			"metadata": map[string]any{"worker": w.cfg.Name, "host": host, "version": w.cfg.Version, "withdraw": true},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("describe an agent: %v", err)) // texts
	}
	return raw
}

// message is a message of an agent to the coordinator.
func message(agent, to string, typ bus.MessageType, id string, payload []byte) *bus.Message {
	return &bus.Message{
		MessageID: id, Timestamp: amp.FormatTime(time.Now()), Sender: bus.Identifier{AgentID: agent, Framework: bus.FrameworkOf(agent)},
		Recipient: bus.Identifier{AgentID: to, Framework: bus.Framework}, Type: typ, Priority: bus.Medium, Payload: payload,
		Routing: bus.Routing{Timeout: "300s", RetryPolicy: bus.RetryPolicy{MaxRetries: 3, Backoff: bus.Exponential}, DeliveryMode: bus.Async},
	}
}

func newID() string {
	return fmt.Sprintf("msg_%d_%s", time.Now().UnixMilli(), uuid.NewString()[:18])
}

func (w *Worker) heartbeat(agent string) *bus.Message {
	w.mu.Lock()
	n := 0
	for _, t := range w.jobs {
		if t.Agent == agent && t.State == Running {
			n++
		}
	}
	w.mu.Unlock()
	payload, err := json.Marshal(map[string]any{"status": "healthy", "active_tasks": n})
	if err != nil {
		panic(fmt.Sprintf("write a heartbeat: %v", err)) // a number
	}
	return message(agent, "communication-bus", bus.Heartbeat, newID(), payload)
}

func decode(raw []byte, v any) error { return json.Unmarshal(raw, v) }
