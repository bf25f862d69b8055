package amp

import "time"

// AccessEvent is what happened to the right of somebody outside to take part.
type AccessEvent string

// The events of access.
const (
	AccessGranted AccessEvent = "token_created"
	AccessRevoked AccessEvent = "token_revoked"
)

// Access is the body of a bus entry that notes who may take part from outside. It never holds a secret, nor a hash of one.
type Access struct {
	Event AccessEvent `json:"event"`
	// Token is the id of the token, Name its bearer, Role what it allows.
	Token   string     `json:"token"`
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Expires *time.Time `json:"expires,omitzero"`
}

// EventReceived says that an event of somebody else arrived. It is kept, and never an instruction.
const EventReceived AccessEvent = "event_received"

// Arrived is the body of a bus entry that keeps an event of somebody else.
type Arrived struct {
	Event AccessEvent `json:"event"`
	ID    string      `json:"id"`
	Type  string      `json:"type"`
	// Source is what the event says of its origin; nothing is believed by it.
	Source string `json:"source"`
	// Raw is the event byte for byte.
	Raw string `json:"raw"`
}

// DutyReached says how far something came that one coordinator does for all.
const DutyReached AccessEvent = "duty_reached"

// Reached is the body of a bus entry that notes how far a duty came, so that another coordinator does not begin it far behind.
type Reached struct {
	Event AccessEvent `json:"event"`
	// Duty is its name, Seq the last entry that is done, and N how much of the next one.
	Duty string `json:"duty"`
	Seq  uint64 `json:"seq"`
	N    int    `json:"n,omitzero"`
}
