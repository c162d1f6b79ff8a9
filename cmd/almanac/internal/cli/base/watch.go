package base

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
)

// Unread returns the error about entries of a list that could not be read and are missing; nil if there are none.
func Unread(entries int) error {
	if entries == 0 {
		return nil
	}
	return exit.With(exit.Failed, fmt.Errorf("%d entries could not be read, and are missing above", entries))
}

// Watch shows a list again and again until ctx ends: on a terminal all of it in the same place, elsewhere the entries
// that are new or have changed. A failure to load it is told and tried again.
func Watch[T any](
	ctx context.Context, s *Session, v output.View[T], every time.Duration, load func() ([]T, error),
) error {
	before := map[string]T{}
	first := true
	for {
		found, err := load()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			s.Say("%s", Describe(s.URL, err))
		case s.Terminal && s.Format.ForPeople():
			s.Now = time.Now()
			fmt.Fprint(s.Out, "\x1b[H\x1b[J")
			err = output.List(&s.Printer, v, found)
		default:
			s.Now = time.Now()
			err = changed(s, v, before, found, first)
		}
		if err != nil && errors.Is(err, errOutput) {
			return err
		}
		first = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// errOutput is the error of an output that takes no more.
var errOutput = errors.New("the output cannot be written")

// changed prints the entries that are not as they were before.
func changed[T any](s *Session, v output.View[T], before map[string]T, found []T, first bool) error {
	var news []T
	for _, one := range found {
		name := v.Name(one)
		if was, known := before[name]; !known || !reflect.DeepEqual(was, one) {
			news = append(news, one)
		}
		before[name] = one
	}
	p := s.Printer
	p.NoHeads = p.NoHeads || !first
	if p.Format.ForPeople() {
		if err := output.List(&p, v, news); err != nil {
			return fmt.Errorf("%w: %w", errOutput, err)
		}
		return nil
	}
	for _, one := range news {
		if err := output.One(&p, v, one); err != nil {
			return fmt.Errorf("%w: %w", errOutput, err)
		}
	}
	return nil
}
