package amp

// FollowUps are the commands that can follow this one in the same decision (args.next) as the task stands, nil when none can. Only unlock,
// resume and rollback take one.
func (t *Task) FollowUps(c CommandName) (all []CommandName) {
	to, hold := Held, HoldKind("")
	switch c {
	case Unlock:
		hold = HoldUnlock
	case Rollback:
		hold = HoldRolled
	case Resume:
		if to = t.interrupted(); t.Hold != nil {
			hold = t.Hold.Kind
		}
	default:
		return nil
	}
	for _, next := range []CommandName{Redispatch, Reassign, Split, Accept, Terminate} {
		can := false
		switch next {
		case Redispatch, Reassign:
			_, can = to.Move(Redispatched)
			can = can && t.Approval != nil
		case Split:
			_, can = to.Move(SplitUp)
		case Accept:
			can = to == Held && (hold == HoldVerdict || hold == HoldResult || hold == HoldUnlock && t.Decision != "")
		default:
			_, can = to.Move(TerminatedCause)
		}
		if can {
			all = append(all, next)
		}
	}
	return all
}
