package program

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"arbiter/providers"
)

// Furnish writes files into the turn's home, each by its path below it, in the place of what was there. The home was open to an agent before: a
// link that leads out of it is an error.
func Furnish(turn *providers.Turn, files map[string][]byte) error {
	if err := os.MkdirAll(turn.Home, 0o700); err != nil {
		return fmt.Errorf("create home of the turn: %w", err)
	}
	root, err := os.OpenRoot(turn.Home)
	if err != nil {
		return fmt.Errorf("open home of the turn: %w", err)
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := root.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = root.RemoveAll(name)
		}
		if err == nil {
			err = root.WriteFile(name, files[name], 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the configuration of the program: %w", err)
		}
	}
	return nil
}
