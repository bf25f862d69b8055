package tuitest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
)

// Query answers as the coordinator does.
func (s *Script) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, q)
	if slow := s.slow; slow != nil && q.Kind == amp.QueryEntries {
		s.mu.Unlock()
		select {
		case <-slow:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return amp.Page{}, ctx.Err()
		}
	}
	if s.down != nil {
		return amp.Page{}, s.down
	}
	p := amp.Page{Head: s.board.Head}
	switch q.Kind {
	case amp.QueryBoard:
		p.Board = copyBoard(s.board)
	case amp.QueryEntries:
		p.Entries, p.More = s.entries(q.Filter)
		if !q.Filter.Search.Empty() {
			all := q.Filter
			all.Limit = 1000
			counted, more := s.entries(all)
			p.Count, p.CountCapped = len(counted), more
		}
	case amp.QueryDiff:
		if answer := s.diff[q.TaskID]; answer != nil {
			p.Text, p.Diff = answer(q)
		}
	case amp.QueryStatus:
		state := s.state
		p.Status = &state
	case amp.QueryChecklist:
		claims := s.list
		if claims == nil {
			claims = []amp.Claim{
				{Name: "branch", Finding: amp.Confirmed, Found: "as recorded"},
				{Name: "base", Finding: amp.Confirmed, Found: "as approved"},
				{Name: "worktree", Finding: amp.Confirmed, Found: "clean"},
			}
		}
		p.Check = &amp.Check{Subject: amp.CheckResume, TaskID: q.TaskID, Claims: claims}
	case amp.QueryPull:
		p.Pull = s.pull
	case amp.QueryLog:
		text, ok := s.logs[q.From]
		if !ok {
			return amp.Page{}, fmt.Errorf("turn %q has no log", q.From)
		}
		p.Text = text
	}
	return p, nil
}

func (s *Script) entries(f amp.Filter) (out []amp.Entry, more bool) {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 1000
	}
	n := len(s.log)
	for k := range n {
		i := k
		if f.Newest {
			i = n - 1 - k
		}
		e := &s.log[i]
		switch {
		case e.Seq <= f.After, f.Before > 0 && e.Seq >= f.Before, f.TaskID != "" && e.TaskID != f.TaskID,
			len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind), f.ID != "" && e.ID != f.ID && s.named[f.ID] != e.Seq,
			!f.Search.Match(e),
			f.Text != "" && !strings.Contains(strings.ToLower(string(e.Body)), strings.ToLower(f.Text)):
			continue
		}
		if len(out) == limit {
			return out, true
		}
		out = append(out, *e)
	}
	return out, false
}

// copyBoard gives a board away: the snapshot that it is on the wire.
func copyBoard(b *amp.Board) *amp.Board {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	out := amp.NewBoard()
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}
