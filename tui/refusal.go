package tui

import "arbiter/amp"

func refusalKind() pageKind {
	return pageKind{
		Kind: KindErrors, Tab: "7", Title: "Errors", Short: "Err",
		Make: func(e *env, _ Place) page { return newHistoryPage(e, KindErrors, "Refusals", amp.KindRefusal) },
	}
}
