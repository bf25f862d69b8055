package amp

// MaxRaw is how many bytes of a refused message a refusal keeps, 1 MiB.
const MaxRaw = 1 << 20

// Refusal is the body of a refusal entry, the protocol's error log: what was refused, by which rule, with its raw bytes
// (AMP-002).
type Refusal struct {
	// What is the message type, "ack", "command", or "bytes" when it could not be told.
	What   string `json:"what"`
	TaskID TaskID `json:"task_id,omitzero"`
	// Source says where it came from: an agent and turn, an admin, a socket.
	Source   string    `json:"source"`
	Problems []Problem `json:"problems"`
	// Raw is what was received, cut to MaxRaw bytes; RawLen is how long it was.
	Raw    []byte `json:"raw"`
	RawLen int    `json:"raw_len"`
	// Turn and Epoch name the run that it came from, when one is known.
	Turn  string `json:"turn,omitzero"`
	Epoch int    `json:"epoch,omitzero"`
}

// Problem is one thing that is wrong with a message: the rule, the field as a path like payload.blockers[0], and a sentence.
type Problem struct {
	Rule    string `json:"rule"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// String is "field: message (rule)".
func (p Problem) String() string {
	if p.Field == "" {
		return p.Message + " (" + p.Rule + ")"
	}
	return p.Field + ": " + p.Message + " (" + p.Rule + ")"
}
