// Package flags gives commands flags that environment variables also set.
//
// A [Setting] is a flag with its variable. [Declare] gives a command its flags, and [Set.Load] reads them: from the
// flag, else from the variable, else the default. One error lists all mistakes, as "--flag: what is wrong; allowed: what
// is allowed". [Usage] prints help.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A Setting is a flag of some commands, and the environment variable that also sets it.
type Setting struct {
	// without dashes; Flag is "" for secrets, because other users of a machine can read command lines
	Flag, Short string
	Variable    string // without $; "": none
	Commands    string // names of the commands that have it, separated by blanks
	Value       Value
	Default     string
	Defaults    map[string]string // of commands whose default is another one, by their names
	Help        string            // one sentence, for --help
	More        string            // further sentences, for the documentation
	Check       func() error      // called by [Set.Load] when all values are set; nil: nothing to check

	group             string
	text              string
	fromFlag, fromEnv bool
}

// A Group is the settings under one heading.
type Group struct {
	Name     string
	Settings []*Setting
}

// A Set is the settings of a command.
type Set []*Setting

// CommandName is the annotation with the name that a table has for a command, if it is another one than the command's
// own: that of a command below another one.
const CommandName = "almanac/settings/name"

// Declare gives a command the flags that a table has for it, with completion. getenv is as [os.LookupEnv].
func Declare(cmd *cobra.Command, table []Group, getenv func(string) (string, bool)) Set {
	cmd.Flags().SortFlags = false
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	var all Set
	name := cmp.Or(cmd.Annotations[CommandName], cmd.Name())
	for _, g := range table {
		for _, s := range g.Settings {
			if !slices.Contains(strings.Fields(s.Commands), name) {
				continue
			}
			if d, differs := s.Defaults[name]; differs {
				s.Default = d
			}
			s.group, s.text = g.Name, s.Default
			if v, set := getenv(s.Variable); v != "" || set && s.Value.optional {
				s.text, s.fromEnv = v, true
			}
			all = append(all, s)
			if s.Flag != "" {
				s.declare(cmd)
			}
		}
	}
	return all
}

func (s *Setting) declare(cmd *cobra.Command) {
	f := cmd.Flags().VarPF(flagValue{s}, s.Flag, s.Short, s.Help)
	if s.Value.Kind == kindBool {
		f.NoOptDefVal = "true"
	}
	// The error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(s.Flag, cobra.FixedCompletions(s.Value.Words, s.Value.complete))
}

// A flagValue keeps a flag's text for [Set.Load].
type flagValue struct{ *Setting }

// Set takes the flag's text. A repeated flag extends a list.
func (v flagValue) Set(text string) error {
	if v.Value.list && v.fromFlag {
		text = v.text + v.Value.between + text
	}
	v.text, v.fromFlag = text, true
	return nil
}
func (v flagValue) String() string { return v.text }
func (v flagValue) Type() string   { return v.Value.Kind }

// Load reads all values, then calls all checks. The error lists every mistake. A setting whose text and
// default are empty keeps its zero value.
func (all Set) Load() error {
	var errs []error
	for _, s := range all {
		if s.text == "" && (s.Value.optional || s.Default == "") {
			continue
		}
		if err := s.Value.read(s.text); err != nil {
			errs = append(errs, s.Wrong(err, s.Value.Allowed))
		}
	}
	for _, s := range all {
		if s.Check != nil {
			errs = append(errs, s.Check())
		}
	}
	return errors.Join(errs...)
}

// Get returns the setting with a flag or, for a secret, with a variable; an empty one if there is none.
func (all Set) Get(name string) *Setting {
	for _, s := range all {
		if cmp.Or(s.Flag, s.Variable) == name {
			return s
		}
	}
	return new(Setting)
}

// Text returns the value as it was given, or the default.
func (s *Setting) Text() string { return s.text }

// Given reports whether the flag or the variable is set.
func (s *Setting) Given() bool { return s.fromFlag || s.fromEnv }

// Source returns where the value comes from: $VARIABLE or --flag.
func (s *Setting) Source() string {
	if s.Flag == "" || s.fromEnv && !s.fromFlag {
		return "$" + s.Variable
	}
	return "--" + s.Flag
}

// Wrong returns an error about the value: its source, what is wrong, and what is allowed; "" if problem says
// that.
func (s *Setting) Wrong(problem error, allowed string) error {
	if allowed == "" {
		return fmt.Errorf("%s: %w", s.Source(), problem)
	}
	return fmt.Errorf("%s: %w; allowed: %s", s.Source(), problem, allowed)
}
