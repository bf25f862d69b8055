package amp

// Suggestion is one way out of an escalation that the coordinator proposes. A suggestion is no command (AMP-162): Text travels in
// the message, and a client that knows the text may stage the command that belongs to it.
type Suggestion struct {
	Text    string
	Command CommandName
	Next    CommandName
}

var (
	guide     = Suggestion{"Give guidance and redispatch", Redispatch, ""}
	resume    = Suggestion{"Resume with the same agents", Resume, ""}
	reassign  = Suggestion{"Give it to another agent", Reassign, ""}
	split     = Suggestion{"Split into smaller subtasks", Split, ""}
	terminate = Suggestion{"Stop the task", Terminate, ""}
	rollback  = Suggestion{"Roll back to the last checkpoint, then redispatch", Rollback, Redispatch}
)

var suggestions = map[EscalationType][]Suggestion{
	HallucinationLock: {
		{"Unlock with guidance and redispatch", Unlock, Redispatch},
		{"Unlock and split into smaller subtasks", Unlock, Split},
		{"Roll back to the last checkpoint and terminate", Rollback, Terminate},
	},
	AckTimeoutEsc:     {resume, reassign, terminate},
	HeartbeatTimeout:  {resume, reassign, terminate},
	BranchViolation:   {rollback, split, terminate},
	PermissionDenied:  {rollback, split, terminate},
	CIFailure:         {guide, split, terminate},
	Conflict:          {guide, split, reassign, terminate},
	UnknownEscalation: {resume, guide, terminate},
}

// Suggestions are the ways out that the coordinator proposes for an escalation of this type, in no order of preference.
func Suggestions(t EscalationType) []Suggestion { return suggestions[t] }

// SuggestionFor returns the suggestion with this text, when it is one of the coordinator's own.
func SuggestionFor(t EscalationType, text string) (Suggestion, bool) {
	for _, s := range suggestions[t] {
		if s.Text == text {
			return s, true
		}
	}
	return Suggestion{}, false
}
