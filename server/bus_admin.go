package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"arbiter/providers/bus"
)

// BusState is what an admin is told of the bus.
type BusState struct {
	// Listen is where agents reach it.
	Listen  string           `json:"listen"`
	Agents  []bus.AgentState `json:"agents"`
	Metrics bus.Metrics      `json:"metrics"`
}

// BusResend names dead letters that are to be sent again.
type BusResend struct {
	Keys []bus.Key `json:"keys"`
}

// BusDrop names dead letters that are given up.
type BusDrop struct {
	Keys []bus.Key `json:"keys"`
}

// BusDropped is how many were.
type BusDropped struct {
	Dropped int `json:"dropped"`
}

// BusResent is how many were.
type BusResent struct {
	Resent int `json:"resent"`
}

// BusRoutes are what people do with the bus, on the client API. Of a nil bus they are described, and answer that there is none.
func BusRoutes(b *bus.Bus, listen string) []Route {
	need := func(f func(*http.Request) (any, error)) func(*http.Request) (any, error) {
		return func(r *http.Request) (any, error) {
			if b == nil {
				return nil, &Error{Code: "not_found", What: "this coordinator has no bus", Means: "Nothing was done.", Next: "Set listen under [bus], then arbiter down and arbiter up."}
			}
			v, err := f(r)
			if refused, ok := errors.AsType[*bus.RefusedError](err); ok {
				return nil, &Error{Code: "not_found", What: refused.Error(), Means: "Nothing was sent.", Next: "List them: arbiter bus dead"}
			}
			return v, err
		}
	}
	return []Route{
		{
			Method: "GET", Path: "/v1/bus", Access: People, Tag: "bus", Summary: "Say who is on the AgentMessage bus, and what it counted.",
			Out: BusState{}, Answer: need(func(*http.Request) (any, error) { return BusState{listen, b.Agents(), b.Metrics()}, nil }),
		},
		{
			Method: "GET", Path: "/v1/bus/queue", Access: People, Tag: "bus", Summary: "List the messages that wait, in the order of each queue.",
			Params: []Param{{In: "query", Name: "agent", Text: "the agent_id whose queue it is; left out is every one"}},
			Out:    []bus.Shown{}, Answer: need(func(r *http.Request) (any, error) { return b.Queue(r.URL.Query().Get("agent")), nil }),
		},
		{
			Method: "GET", Path: "/v1/bus/dead", Access: People, Tag: "bus", Summary: "List the messages that could not be delivered.",
			Out: []bus.Shown{}, Answer: need(func(*http.Request) (any, error) { return b.DeadLetters(), nil }),
		},
		{
			Method: "POST", Path: "/v1/bus/resend", Access: Admins, Tag: "bus", Summary: "Put dead letters back into the queues of their first recipients.",
			Text: "All of them, or none.", In: BusResend{}, Out: BusResent{},
			Answer: need(func(r *http.Request) (any, error) {
				var in BusResend
				if err := readJSON(r, &in); err != nil {
					return nil, err
				}
				name, _, _ := Caller(r.Context())
				return BusResent{len(in.Keys)}, b.Resend(r.Context(), name, in.Keys)
			}),
		},
		{
			Method: "POST", Path: "/v1/bus/drop", Access: Admins, Tag: "bus", Summary: "Give dead letters up: they stay in the journal, and are not sent again.",
			Text: "All of them, or none.", In: BusDrop{}, Out: BusDropped{},
			Answer: need(func(r *http.Request) (any, error) {
				var in BusDrop
				if err := readJSON(r, &in); err != nil {
					return nil, err
				}
				name, _, _ := Caller(r.Context())
				return BusDropped{len(in.Keys)}, b.Drop(r.Context(), name, in.Keys)
			}),
		},
	}
}

// Bus is the state of the AgentMessage bus.
func (c *Client) Bus(ctx context.Context) (s BusState, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/bus", nil, &s)
	return s, err
}

// BusQueue is what waits for an agent on the bus, for every one with "".
func (c *Client) BusQueue(ctx context.Context, agent string) (all []bus.Shown, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/bus/queue?"+url.Values{"agent": {agent}}.Encode(), nil, &all)
	return all, err
}

// BusDead are the messages that could not be delivered.
func (c *Client) BusDead(ctx context.Context) (all []bus.Shown, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/bus/dead", nil, &all)
	return all, err
}

// BusResend puts dead letters back into the queues.
func (c *Client) BusResend(ctx context.Context, keys []bus.Key) (n int, err error) {
	var out BusResent
	err = c.post(ctx, "/v1/bus/resend", BusResend{Keys: keys}, &out)
	return out.Resent, err
}

// BusDrop gives dead letters up.
func (c *Client) BusDrop(ctx context.Context, keys []bus.Key) (n int, err error) {
	var out BusDropped
	err = c.post(ctx, "/v1/bus/drop", BusDrop{Keys: keys}, &out)
	return out.Dropped, err
}
