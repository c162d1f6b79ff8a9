package input_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"almanac/job"
	"almanac/job/input"
)

func ExampleParseDefinition() {
	body := `{"properties": {
		"action": {"type": "Http", "request": {"uri": "http://example.com", "method": "GET"}},
		"recurrence": {"frequency": "Day", "schedule": {"hours": [25], "minute": [0]}}
	}}`
	_, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if e, ok := errors.AsType[*job.Error](err); ok {
		for _, f := range e.Fields {
			fmt.Println(f)
		}
	}
	// Output:
	// properties.recurrence.schedule.hours[0]: 25 is out of range; allowed: 0 to 23
	// properties.recurrence.schedule.minute: unknown field; did you mean "minutes"?
}

func ExampleParsePreview() {
	line := `{"id": "noon", "take": 2, "properties": {"startTime": "2026-03-01T12:00:00", "recurrence": {"frequency": "week"}}}`
	p, err := input.ParsePreview([]byte(line), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	result := p.Run()
	if err != nil {
		result = p.Failed(err)
	}
	text, _ := json.Marshal(result)
	fmt.Println(string(text))
	// Output:
	// {"id":"noon","occurrences":["2026-03-01T12:00:00Z","2026-03-08T12:00:00Z"],"done":false,"text":"every week on Sunday at 12:00, from 2026-03-01 12:00"}
}
