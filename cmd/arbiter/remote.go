package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/server"
)

// remoteFlags name a coordinator on another machine.
func remoteFlags(c *cobra.Command, a *app) {
	f := c.PersistentFlags()
	f.StringVar(&a.urlFlag, "url", "", "a coordinator elsewhere, as https://host:7700 (default $ARBITER_URL, else the one of this data directory)")
	f.StringVar(&a.tokenFlag, "token-file", "", "the file that holds the token for --url (default the token in $ARBITER_TOKEN)")
}

// url is the address of a coordinator elsewhere, "" for the one of the data directory. A data directory that is named wins over the
// environment.
func (a *app) url() string {
	if a.urlFlag == "" && a.homeFlag == "" {
		return os.Getenv("ARBITER_URL")
	}
	return a.urlFlag
}

// maxTokenFile bounds what is read of a file that should hold a token.
const maxTokenFile = 4096

// remoteToken is the token for a coordinator elsewhere.
func (a *app) remoteToken() (string, error) {
	if a.tokenFlag == "" {
		if t := strings.TrimSpace(os.Getenv("ARBITER_TOKEN")); t != "" {
			return t, nil
		}
		return "", usage("a coordinator elsewhere needs a token").then("Name its file with --token-file, or set ARBITER_TOKEN; an admin there makes one with arbiter token new.")
	}
	return readToken(a.tokenFlag)
}

// readToken is the token that a file holds.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return "", usage("%s holds no token", file).then("It is one line that begins with arbiter_.")
	}
	return token, nil
}

// client is a client of the coordinator that this run is about: the one of --url, or of the data directory. Nothing is asked yet.
func (a *app) client() (*server.Client, error) {
	if url := a.url(); url != "" {
		token, err := a.remoteToken()
		if err != nil {
			return nil, err
		}
		return server.NewRemote(url, token, sentinels)
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	return server.NewClient(home, sentinels), nil
}

// admin is the name that decisions of this run have in the journal.
func (a *app) admin(ctx context.Context) (string, error) {
	if a.url() == "" {
		return osUser(), nil
	}
	c, err := a.client()
	if err != nil {
		return "", err
	}
	me, err := c.Me(ctx)
	return me.Name, err
}

// elsewhere refuses what needs the files of the coordinator's machine.
func (a *app) elsewhere() error {
	if url := a.url(); url != "" {
		return &usageError{
			what:  "this needs the data directory of the coordinator, which is on another machine",
			means: "Nothing was done. It reads or writes files there, not through " + url + ".",
			next:  "Run it on that machine, without --url and ARBITER_URL.",
		}
	}
	return nil
}
