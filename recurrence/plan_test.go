package recurrence_test

import (
	"testing"
	"time"

	"almanac/recurrence"
)

func compile(t testing.TB, s recurrence.Spec) *recurrence.Plan {
	t.Helper()
	plan, err := recurrence.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// at reads a time as every test writes it; "" is none.
func at(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}
