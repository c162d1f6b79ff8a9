package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Write writes the log to a directory, a file of JSON lines for each member.
func (l *Log) Write(dir string) error {
	return errors.Join(
		WriteLines(dir, "run", []Run{l.Run}), WriteLines(dir, "requests", l.Requests),
		WriteLines(dir, "changes", l.Changes),
		WriteLines(dir, "faults", l.Faults), WriteLines(dir, "reads", l.Reads), WriteLines(dir, "lists", l.Lists),
		WriteLines(dir, "replays", l.Replays), WriteLines(dir, "alerts", l.Alerts),
	)
}

// WriteLines writes values to the file name.jsonl of a directory, one a line.
func WriteLines[T any](dir, name string, all []T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, one := range all {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, name+".jsonl"), b.Bytes(), 0o644)
}

// ReadLog reads what [Log.Write] wrote.
func ReadLog(dir string) (*Log, error) {
	var l Log
	var run []Run
	err := errors.Join(
		readLines(dir, "run", &run), readLines(dir, "requests", &l.Requests), readLines(dir, "changes", &l.Changes),
		readLines(dir, "faults", &l.Faults), readLines(dir, "reads", &l.Reads), readLines(dir, "lists", &l.Lists),
		readLines(dir, "replays", &l.Replays), readLines(dir, "alerts", &l.Alerts),
	)
	if err == nil && len(run) != 1 {
		err = fmt.Errorf("%s must have one line (got %d)", filepath.Join(dir, "run.jsonl"), len(run))
	}
	if err != nil {
		return nil, err
	}
	l.Run = run[0]
	return &l, nil
}

func readLines[T any](dir, name string, into *[]T) error {
	text, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		var one T
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("%s.jsonl: %w", name, err)
		}
		*into = append(*into, one)
	}
	*into = slices.Clip(*into)
	return nil
}
