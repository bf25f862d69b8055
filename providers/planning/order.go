package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"arbiter/amp"
	"arbiter/providers"
)

// order is what a planning turn is asked for.
type order struct {
	Wish     amp.Wish      `json:"wish"`
	Guidance string        `json:"guidance"`
	Plan     *amp.Plan     `json:"plan"`
	Repo     amp.RepoFacts `json:"repo"`
	Memory   string        `json:"memory"`
}

// said is the order as the agents of the chain are told it: the memory is for the first of them.
func (o *order) said() []byte {
	return amp.EncodeBody(struct {
		Wish     amp.Wish      `json:"wish"`
		Guidance string        `json:"guidance,omitzero"`
		Plan     *amp.Plan     `json:"plan,omitzero"`
		Repo     amp.RepoFacts `json:"repo"`
	}{o.Wish, o.Guidance, o.Plan, o.Repo})
}

func readOrder(turn *providers.Turn) (*order, error) {
	if len(turn.Context) == 0 {
		return nil, fmt.Errorf("planning turn %s has no wish", turn.ID)
	}
	o := &order{}
	if err := json.Unmarshal(turn.Context[0], o); err != nil {
		return nil, fmt.Errorf("read the wish of planning turn %s: %w", turn.ID, err)
	}
	return o, nil
}

// basis names what is asked for. A chain that was held goes on only as long as it stays the same: other guidance or another plan to
// revise asks for other objectives.
func (o *order) basis() string {
	b := struct {
		Wish     string `json:"wish"`
		Guidance string `json:"guidance"`
		Plan     string `json:"plan"`
	}{Wish: o.Wish.Text, Guidance: o.Guidance}
	if o.Plan != nil {
		b.Plan = fmt.Sprintf("%d %s", o.Plan.Revision, o.Plan.Hash)
	}
	sum := sha256.Sum256(amp.EncodeBody(b))
	return hex.EncodeToString(sum[:8])
}
