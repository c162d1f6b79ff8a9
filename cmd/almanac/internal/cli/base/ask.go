package base

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
)

// Asks reports whether a person can be asked.
func (s *Session) Asks() bool { return s.asks }

// Confirm asks whether to go on, unless --yes was given. Without a terminal it refuses. An interrupt is an answer.
func (s *Session) Confirm(ctx context.Context, question string) error {
	if s.Yes {
		return nil
	}
	if !s.asks {
		return exit.With(exit.Usage, errors.New(output.Line(question)+" There is no terminal to ask at: --yes says so"))
	}
	fmt.Fprintf(s.Err, "%s [y/N] ", output.Line(question))
	answers := make(chan string, 1) // after an interrupt nobody waits
	go func() {
		answer, _ := bufio.NewReader(s.In).ReadString('\n')
		answers <- answer
	}()
	answer := ""
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return exit.With(exit.Failed, errors.New("interrupted: nothing was done"))
	case answer = <-answers:
	}
	if answer == "" {
		fmt.Fprintln(s.Err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exit.With(exit.Refused, errors.New("nothing was done"))
}

// Say prints a line for people on standard error.
func (s *Session) Say(format string, values ...any) {
	fmt.Fprintln(s.Err, output.Clean(fmt.Sprintf(format, values...)))
}

// Done prints what was done to something: a line for people, or its name, and nothing in formats for programs that have
// a thing to print.
func (s *Session) Done(kind, name, what string) error {
	if s.Format.ForPeople() {
		_, err := fmt.Fprintf(s.Out, "%s %s %s\n", kind, output.Line(name), output.Line(what))
		return err
	}
	return s.Value(map[string]string{"name": name, "status": what}, name)
}
