package amp

import (
	"crypto/sha256"
	"encoding/hex"
)

// ContentHash is the hash of what an approval of the plan binds, in lower-case hex: SHA-256 over the canonical JSON (RFC 8785) of
// every field but Revision, Author, Reasons and Hash. Nil and empty lists are the same. A plan that JSON cannot hold has the hash
// "", which approves nothing.
func (p *Plan) ContentHash() string {
	c := *p
	c.Revision, c.Author, c.Reasons, c.Hash = 0, "", "", ""
	c.AllowedPaths, c.ForbiddenActions = orNil(c.AllowedPaths), orNil(c.ForbiddenActions)
	c.Checks, c.Policy.Gates = orNil(c.Checks), orNil(c.Policy.Gates)
	c.Policy.Require = orNil(c.Policy.Require)
	if len(c.TechConstraints) == 0 {
		c.TechConstraints = nil
	}
	b, err := canonical(&c)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
