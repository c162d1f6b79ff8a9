package settings

import (
	"errors"
	"path/filepath"
	"strings"
)

// serverDefaults are the defaults in which server differs from dev, by flag. "" is none.
var serverDefaults = map[string]string{
	"data":         "",     // it has to be given; see stateDirectory
	"ui-listen":    "",     // the Web UI shows the secrets of all jobs to everyone who reaches it
	"egress-allow": "",     // jobs do not call this machine
	"log-format":   "json", // for machines
}

// stateVariable has the directories that systemd made for a service, separated by colons.
const stateVariable = "STATE_DIRECTORY"

// stateDirectory sets the default of server's --data, and of worker's --journal, to the directory that systemd made for
// it.
func (c *Config) stateDirectory(command string, getenv Lookup) {
	if list, _ := getenv(stateVariable); command == "server" || command == "worker" {
		c.stateDir, _, _ = strings.Cut(list, ":")
	}
}

// checkData reports a missing data directory.
func (c *Config) checkData() error {
	if c.Data == "" {
		c.Data = c.stateDir
	}
	if c.Data == "" {
		return c.set.Get("data").Wrong(errors.New("no directory is given"), "a directory for Almanac alone, such as /var/lib/almanac")
	}
	return nil
}

func (c *Config) checkJournal() error {
	if c.journal == "" {
		c.journal = c.stateDir
	}
	return nil
}

// JournalDir returns the directory in which this process's worker keeps outcomes; "" if it keeps none.
func (c *Config) JournalDir() string {
	if c.Data != "" {
		return filepath.Join(c.Data, "outcomes")
	}
	return c.journal
}
