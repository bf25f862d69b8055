// Package forge is GitHub as the place where branches are delivered: what its webhooks say, and what other systems report in our own
// signed form, as [amp.Outside]. Everything that it reads was written by strangers, is bounded, and is no instruction.
package forge
