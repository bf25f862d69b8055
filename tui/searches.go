package tui

import "slices"

// searches are the searches that a person keeps and those of the past, the newest last.
type searches struct {
	Saved []savedSearch `json:"saved,omitzero"`
	Past  []string      `json:"past,omitzero"`
}

// savedSearch is a search with a name.
type savedSearch struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

const (
	maxPast  = 50
	maxSaved = 200
)

// remember puts a search behind those of the past; one that is there already moves.
func (s *searches) remember(text string) {
	if text == "" {
		return
	}
	s.Past = slices.DeleteFunc(s.Past, func(t string) bool { return t == text })
	s.Past = append(s.Past, text)
	if len(s.Past) > maxPast {
		s.Past = slices.Clone(s.Past[len(s.Past)-maxPast:])
	}
}

// save keeps a search under a name; one of that name is replaced.
func (s *searches) save(name, text string) {
	if i := s.find(name); i >= 0 {
		s.Saved[i].Text = text
		return
	}
	s.Saved = append(s.Saved, savedSearch{name, text})
	if len(s.Saved) > maxSaved {
		s.Saved = slices.Clone(s.Saved[len(s.Saved)-maxSaved:])
	}
}

func (s *searches) forget(name string) {
	s.Saved = slices.DeleteFunc(s.Saved, func(k savedSearch) bool { return k.Name == name })
}

// find is the index of a saved search by its name, -1 for none.
func (s *searches) find(name string) int {
	return slices.IndexFunc(s.Saved, func(k savedSearch) bool { return k.Name == name })
}
