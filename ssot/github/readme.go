package github

// readme says to whoever opens the repository what it is.
const readme = `# The mirror of a journal

Arbiter writes this repository. It holds the journal of a coordinator of agents: every entry, the state of each task, and the head of the
journal, so that nobody can rewrite the journal later without being found out.

- ` + "`entries/`" + `: the entries, one JSON object per line, in files that are written once and never again. The name of a file is its first entry.
- ` + "`released/`" + `: entries that were withheld first, since they looked as if they held a secret.
- ` + "`tasks/`" + `: the state of each task.
- ` + "`head.json`" + `: the last entry's number and hash. Each entry's hash covers the one before it.

A line that begins with ` + "`{\"withheld\":`" + ` is an entry whose content stayed on the machine. Its hash anchors it all the same.

Do not change these files: the mirror stops when somebody does. Files of other names are left alone.

    git clone REPOSITORY mirror
    arbiter journal verify --against mirror       compares a journal with it
    arbiter journal import --mirror mirror        makes a journal from it
`
