package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/fields"
)

// explain adds to an error about a command line what its writer most likely meant, and where help is. args is the
// command line.
func explain(cmd *cobra.Command, args []string, err error) error {
	if err == nil || cmd == nil {
		return err
	}
	if m := unknownCommand.FindStringSubmatch(err.Error()); m != nil {
		if above, _, err := cmd.Root().Find(strings.Fields(m[2])); err == nil { // of help, the command that it is about
			cmd = above
		}
		if cmd.HasParent() && !cmd.HasSubCommands() {
			err = fmt.Errorf("%s takes no argument, and %q is one", strings.TrimPrefix(cmd.CommandPath(), "almanac "), m[1])
		}
		return seeHelp(cmd, err, meantCommand(cmd, m[1], args))
	}
	if m := wrongCount.FindStringSubmatch(err.Error()); m != nil {
		least, _ := strconv.Atoi(m[1])
		given, _ := strconv.Atoi(m[2])
		what := "too many arguments"
		if given < least {
			what = "an argument is missing"
		}
		return seeHelp(cmd, errors.New(what+"; write "+usage(cmd)), "")
	}
	for _, arg := range args { // -output json is -o with the value utput
		if m := oneDash.FindStringSubmatch(arg); m != nil && cmd.Flags().Lookup(m[1]) != nil && !strings.Contains(err.Error(), "\nDid you mean") {
			return exit.With(usageStatus(cmd), fmt.Errorf("%w%s", err, didYouMean("--"+m[1])))
		}
	}
	return err
}

// oneDash matches an argument that is a flag with one dash.
var oneDash = regexp.MustCompile(`^-([a-z][a-z-]+)(?:=.*)?$`)

// unknownCommand matches the error about a command that does not exist, or an argument where none is allowed.
var unknownCommand = regexp.MustCompile(`^unknown command "([^"]*)" for "almanac ?([^"]*)"`)

// wrongCount matches the error about a number of arguments.
var wrongCount = regexp.MustCompile(`^(?:accepts|requires)\D* (\d+)\D.*(?:received|only received) (\d+)$`)

// usage returns how a command is written, without flags.
func usage(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.UseLine(), " [flags]")
}

// usageStatus returns the status of a command whose command line is wrong.
func usageStatus(cmd *cobra.Command) int {
	if own, err := strconv.Atoi(cmd.Annotations[exit.UsageStatus]); err == nil {
		return own
	}
	return exit.Usage
}

func seeHelp(cmd *cobra.Command, err error, meant string) error {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n\nDid you mean this?")
	return exit.With(usageStatus(cmd), fmt.Errorf("%s%s\nRun \"%s --help\" for what is allowed", text, meant, cmd.CommandPath()))
}

// didYouMean returns a line that asks whether something is meant; "" if it is not known.
func didYouMean(what string) string {
	if what == "" {
		return ""
	}
	return "\nDid you mean " + what + "?"
}

// Words for commands that have other names, by the command above them.
var otherCommands = map[string]map[string][]string{
	"token": {
		"create": {"add", "new", "generate", "make", "issue"}, "list": {"ls", "show", "get"},
		"revoke": {"delete", "remove", "rm", "del"},
	},
	"job": {
		"list": {"ls", "all"}, "get": {"show", "describe", "read", "status", "view"}, "create": {"add", "new", "put", "make"},
		"edit": {"update", "patch", "change", "set"}, "run": {"trigger", "start", "execute", "fire"},
		"enable": {"resume", "unpause", "on"}, "disable": {"pause", "suspend", "off"}, "delete": {"rm", "remove", "del"},
		"history": {"log", "logs", "runs", "executions"}, "next": {"upcoming", "preview", "when"},
		"why": {"explain", "diagnose"}, "watch": {"follow", "tail"}, "rerun": {"retry"},
	},
	"context": {"list": {"ls", "get"}, "use": {"switch", "set", "select"}, "remove": {"rm", "delete", "del"}, "add": {"create", "new"}},
	"codec":   {"generate-key": {"genkey", "keygen", "key", "generate", "new-key"}},
	"almanac": {"dev": {"start", "up", "standalone", "all"}, "server": {"serve", "run-server"}, "setup": {"init", "install", "migrate"}},
}

// ofJobs are words that a user may type who forgets the word job.
var ofJobs = []string{"run", "enable", "disable", "skip", "unskip", "backfill", "rerun", "delete", "list", "get", "create", "edit", "history", "next", "why", "watch"}

// meantCommand returns a line with what is most likely meant by a word where a command has none, or no argument.
func meantCommand(cmd *cobra.Command, word string, args []string) string {
	flag := "--" + strings.ToLower(word)
	switch {
	case !cmd.HasParent() && len(args) > 0 && strings.HasPrefix(args[0], "-"):
		return "\nA command stands before its flags, such as almanac dev --" + strings.TrimLeft(args[0], "-")
	case !cmd.HasSubCommands() && cmd.Flags().Lookup(strings.ToLower(word)) != nil:
		return didYouMean(flag)
	}
	if near := nearestCommand(cmd, strings.ToLower(word)); near != "" {
		return didYouMean(cmd.CommandPath() + " " + near)
	}
	switch word = strings.ToLower(word); {
	case cmd.HasParent():
	case slices.Contains(ofJobs, word):
		return didYouMean("almanac job " + word)
	}
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(word); len(like) > 0 {
		return didYouMean(cmd.CommandPath() + " " + like[0])
	}
	return ""
}

// nearestCommand returns the name of the command below cmd that is meant by a word; "" if that is not known.
func nearestCommand(cmd *cobra.Command, word string) string {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	for _, name := range known {
		if slices.Contains(otherCommands[cmd.Name()][name], word) || len(word) > 2 && strings.HasPrefix(name, word) {
			return name
		}
	}
	return fields.Nearest(word, known)
}

// otherFlags are words for flags that have other names, and for what is no flag.
var otherFlags = map[string][]string{
	`--listen, such as --listen 127.0.0.1:8080`: {"port", "address", "addr", "bind", "host", "http", "p"},
	`--ui-listen ""`:                        {"no-ui", "without-ui", "disable-ui", "headless"},
	"--data":                                {"db", "database", "data-dir", "datadir", "dir", "directory", "db-filename"},
	"--token-file":                          {"token", "tokens"},
	"--log-level":                           {"verbose", "debug", "quiet", "loglevel", "v"},
	"TEMPORAL_ADDRESS in the environment":   {"temporal", "temporal-address", "temporal-host", "tempral"},
	"TEMPORAL_NAMESPACE in the environment": {"namespace", "temporal-namespace"},
}

// wrongFlag returns the error about a flag of a command, with what is most likely meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return seeHelp(cmd, err, "")
	}
	name := unknown.GetSpecifiedName()
	if rest := unknown.GetSpecifiedShortnames(); rest != "" { // of -listen, or of -version the part after the v
		name, _, _ = strings.Cut(rest, "=")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand != "" && f.Name == f.Shorthand+name {
				name = f.Name
			}
		})
	}
	if slices.Contains(strings.Fields(cmd.Use), strings.ToUpper(name)) { // an argument, given as a flag
		return seeHelp(cmd, err, didYouMean(usage(cmd)))
	}
	return seeHelp(cmd, err, didYouMean(nearestFlag(cmd, name)))
}

// nearestFlag returns the flag of a command that is meant by a word; "" if that is not known.
func nearestFlag(cmd *cobra.Command, word string) string {
	word = strings.ToLower(word)
	var known, begin []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		known = append(known, f.Name)
		if strings.HasPrefix(f.Name, word) {
			begin = append(begin, f.Name)
		}
	})
	if slices.Contains(known, word) {
		return "--" + word
	}
	for _, c := range cmd.Commands() {
		if !cmd.HasParent() && c.Name() == word {
			return cmd.CommandPath() + " " + word
		}
	}
	for flag, words := range otherFlags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), ",")
		name, _, _ = strings.Cut(name, " ")
		isFlag := strings.HasPrefix(flag, "--")
		if slices.Contains(words, word) && (isFlag && slices.Contains(known, name) || !isFlag && slices.Contains(known, "listen")) {
			return flag
		}
	}
	if len(begin) == 1 {
		return "--" + begin[0]
	}
	if near := fields.Nearest(word, known); near != "" {
		return "--" + near
	}
	return ""
}
