package base

import (
	"context"
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
// that are new or have changed.
func Watch[T any](
	ctx context.Context, s *Session, v output.View[T], every time.Duration, load func() ([]T, error),
) error {
	before := map[string]T{}
	return Follow(ctx, s, every, func(first bool) error {
		found, err := load()
		switch {
		case err != nil:
			return err
		case s.Terminal && s.Format.ForPeople():
			fmt.Fprint(s.Out, "\x1b[H\x1b[J") // the cursor to the first line, and nothing after it
			return output.List(&s.Printer, v, found)
		}
		return changed(s, v, before, found, first)
	})
}

// Follow calls look again and again until ctx ends. An error of the first look is returned. Those of others are told, if
// they may pass.
func Follow(ctx context.Context, s *Session, every time.Duration, look func(first bool) error) error {
	for first := true; ; first = false {
		s.Now = time.Now()
		err := look(first)
		switch passes := exit.CodeOf(err) == exit.Unreachable; {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || !passes):
			return err
		case err != nil:
			s.Say("%s", Describe(s.URL, err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

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
		return output.List(&p, v, news)
	}
	for _, one := range news {
		if err := output.One(&p, v, one); err != nil {
			return err
		}
	}
	return nil
}
