package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settings defines flags, each with an environment variable, and checks their values together, so that one
// error lists all mistakes.
type settings struct {
	flags  *pflag.FlagSet
	lookup func(string) (string, bool) // as os.LookupEnv
	checks []func() error

	warnings []string // complete after check
}

// text defines a setting. The value of the variable, unless it is empty, replaces the default.
func (s *settings) text(name, variable, def, usage string) *string {
	return s.typed("string", name, variable, def, usage)
}

// into is text for a setting whose value is stored in *value.
func (s *settings) into(value *string, name, variable, def, usage string) {
	s.typedInto(value, "string", name, variable, def, usage)
}

// typed is text for a setting whose help shows a kind of value.
func (s *settings) typed(kind, name, variable, def, usage string) *string {
	value := new(string)
	s.typedInto(value, kind, name, variable, def, usage)
	return value
}

func (s *settings) typedInto(value *string, kind, name, variable, def, usage string) {
	*value = def
	if v, _ := s.lookup(variable); v != "" {
		*value = v
	}
	s.flags.Var(typedValue{value, kind}, name, fmt.Sprintf("%s [$%s]", usage, variable))
	s.remember(name, variable)
}

// A typedValue is a flag with its text as the value and the kind that help shows. check parses the text, so
// that one error lists all mistakes.
type typedValue struct {
	text *string
	kind string // the result of [pflag.Value.Type]: string, duration, int
}

func (v typedValue) Set(text string) error { *v.text = text; return nil }
func (v typedValue) String() string        { return *v.text }
func (v typedValue) Type() string          { return v.kind }

// file defines a setting with the path of a file.
func (s *settings) file(name, variable, def, usage string) *string {
	value := s.typed("file", name, variable, def, usage)
	_ = s.flags.SetAnnotation(name, cobra.BashCompFilenameExt, []string{}) // any file
	return value
}

// directory defines a setting with the path of a directory.
func (s *settings) directory(name, variable, def, usage string) *string {
	value := s.typed("directory", name, variable, def, usage)
	_ = s.flags.SetAnnotation(name, cobra.BashCompSubdirsInDir, []string{})
	return value
}

// offersOf is the annotation of a flag with the words offered for shell completion.
const offersOf = "offers"

// offer adds words to the shell completion of a setting. Other values are not ruled out.
func (s *settings) offer(name string, words ...string) {
	_ = s.flags.SetAnnotation(name, offersOf, words)
}

// complete sets up shell completion for a command: the words that offer added, files or directories for
// such settings, and otherwise nothing.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, isFile := f.Annotations[cobra.BashCompFilenameExt]
		_, isDirectory := f.Annotations[cobra.BashCompSubdirsInDir]
		if !isFile && !isDirectory {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(f.Annotations[offersOf], cobra.ShellCompDirectiveNoFileComp))
		}
	})
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// variableOf is the annotation of a flag with the name of its variable.
const variableOf = "variable"

func (s *settings) remember(name, variable string) {
	_ = s.flags.SetAnnotation(name, variableOf, []string{variable}) // fails only for flags that are not defined
}

// variable returns the name and the value of a setting's variable; the value is "" if it is not set.
func (s *settings) variable(name string) (variable, value string) {
	variable = s.flags.Lookup(name).Annotations[variableOf][0]
	value, _ = s.lookup(variable)
	return variable, value
}

// source returns the origin of a setting's value, for errors: $VARIABLE if the variable is set and the flag
// is not, otherwise --flag.
func (s *settings) source(name string) string {
	if variable, value := s.variable(name); value != "" && !s.flags.Changed(name) {
		return "$" + variable
	}
	return "--" + name
}

// blame adds the origin of a setting's value to an error about it. It returns nil for nil.
func (s *settings) blame(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.source(name), err)
}

// address defines the address of a listener, host:port. Port 0 means a free port.
func (s *settings) address(name, variable, def, usage string) *string {
	example := def
	value := s.typed("host:port", name, variable, def, usage)
	s.checks = append(s.checks, func() error { return checkAddress(s.source(name), *value, example) })
	return value
}

// optionalAddress defines the address of a listener that is not opened if the value is empty, also in the
// variable.
func (s *settings) optionalAddress(name, variable, def, usage string) *string {
	example := def
	if v, set := s.lookup(variable); set && v == "" {
		def = ""
	}
	value := s.typed("host:port", name, variable, def, usage)
	s.checks = append(s.checks, func() error {
		if *value == "" {
			return nil
		}
		return checkAddress(s.source(name), *value, cmp.Or(example, "127.0.0.1:0"))
	})
	return value
}

// checkAddress checks the address of a listener. source is its origin.
func checkAddress(source, value, example string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s is %q, want host:port such as %s", source, value, example)
	}
	return nil
}

// choice defines a setting with a fixed set of values.
func (s *settings) choice(name, variable, def, usage string, words ...string) *string {
	value := s.text(name, variable, def, usage)
	s.offer(name, words...)
	s.checks = append(s.checks, func() error {
		if slices.Contains(words, *value) {
			return nil
		}
		return fmt.Errorf("%s is %q, want one of %q", s.source(name), *value, words)
	})
	return value
}

// duration defines a duration, such as 250ms or 20s, of more than 0s and at most most.
func (s *settings) duration(name, variable string, def, most time.Duration, usage string) *time.Duration {
	return s.durationFrom("more than 0s", 1, name, variable, def, most, usage)
}

// durationOrNone defines a duration of at least 0s and at most most.
func (s *settings) durationOrNone(name, variable string, def, most time.Duration, usage string) *time.Duration {
	return s.durationFrom("at least 0s", 0, name, variable, def, most, usage)
}

func (s *settings) durationFrom(wanted string, least time.Duration, name, variable string, def, most time.Duration, usage string) *time.Duration {
	text := s.typed("duration", name, variable, def.String(), usage)
	value := new(time.Duration)
	s.checks = append(s.checks, func() (err error) {
		if *value, err = time.ParseDuration(*text); err != nil || *value < least || *value > most {
			return fmt.Errorf("%s is %q, want a duration of %s and at most %s, such as %s", s.source(name), *text, wanted, most, def)
		}
		return nil
	})
	return value
}

// count defines an integer of at least 1.
func (s *settings) count(name, variable string, def int, usage string) *int {
	text := s.typed("int", name, variable, strconv.Itoa(def), usage)
	value := new(int)
	s.checks = append(s.checks, func() (err error) {
		if *value, err = strconv.Atoi(*text); err != nil || *value < 1 {
			return fmt.Errorf("%s is %q, want a number of at least 1, such as %d", s.source(name), *text, def)
		}
		return nil
	})
	return value
}

// boolean defines a setting that is true or false, with the default false.
func (s *settings) boolean(name, variable, usage string) *bool {
	value := s.flags.Bool(name, false, fmt.Sprintf("%s [$%s]", usage, variable))
	s.remember(name, variable)
	s.checks = append(s.checks, func() (err error) {
		v, _ := s.lookup(variable)
		if v == "" || s.flags.Changed(name) {
			return nil
		}
		if *value, err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("$%s is %q, want true or false", variable, v)
		}
		return nil
	})
	return value
}

// given reports whether a setting's flag or variable is set.
func (s *settings) given(name string) bool {
	_, v := s.variable(name)
	return v != "" || s.flags.Changed(name)
}

// check parses and checks all values. The error lists every mistake.
func (s *settings) check() error {
	errs := make([]error, len(s.checks))
	for i, check := range s.checks {
		errs[i] = check()
	}
	return errors.Join(errs...)
}

// warn logs the warnings of check.
func (s *settings) warn(log *slog.Logger) {
	for _, w := range s.warnings {
		log.Warn(w)
	}
}

// logging defines the settings for logs, and returns a function that makes the logger, to be called after
// check.
func (s *settings) logging(level string) func(io.Writer) *slog.Logger {
	levels := s.choice("log-level", "ALMANAC_LOG_LEVEL", level, "least level that is logged: debug, info, warn, error", "debug", "info", "warn", "error")
	format := s.choice("log-format", "ALMANAC_LOG_FORMAT", "text", "text or json", "text", "json")
	return func(w io.Writer) *slog.Logger {
		var least slog.Level
		_ = least.UnmarshalText([]byte(*levels)) // choice has checked it
		options := &slog.HandlerOptions{Level: least}
		if *format == "json" {
			return slog.New(slog.NewJSONHandler(w, options))
		}
		return slog.New(slog.NewTextHandler(w, options))
	}
}
