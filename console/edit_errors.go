package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"almanac/client"
)

// dropStored leaves out that a secret is missing: a preview does not know what is stored.
func (v *editView) dropStored() {
	var left []listedError
	for _, e := range v.Listed {
		if !v.New && isSecret(e.Field[strings.LastIndex(e.Field, ".")+1:]) {
			delete(v.Errors, e.Field)
			continue
		}
		left = append(left, e)
	}
	v.Listed = left
	if len(left) == 0 {
		v.Wrong = ""
	}
}

// fail adds what is wrong, in the words of the API.
func (v *editView) fail(err error) {
	v.Errors = map[string][]string{}
	v.Wrong = err.Error()
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	for _, d := range e.Details {
		field := fieldOf(d.Target)
		v.Errors[field] = append(v.Errors[field], d.Message)
		v.Listed = append(v.Listed, listedError{field, d.Message, d.Target})
	}
}

// Anchor returns the id of the field of the form that an error is about; that of the JSON if it is in no field.
func (v *editView) Anchor(field string) string {
	var there bool
	switch field {
	case "name":
		there = v.New
	case "uri", "method", "body", "username", "headers", "password":
		there = v.Fields["isHTTP"] != ""
	case "weekDays", "occurrences", "frequency", "calendar", "onMatch":
		there = true
	default:
		there = slices.ContainsFunc(members, func(m member) bool { return m.field == field })
	}
	if there {
		return "f-" + field
	}
	return "f-json"
}

func wrongField(field, message string) error {
	return &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: message,
		Details: []client.ErrorDetail{{Code: "Invalid", Target: field, Message: message}}}
}

// objectOf returns the JSON object that a text is. If it is none, the error says where.
func objectOf(text string) (map[string]any, error) {
	var body map[string]any
	err := json.Unmarshal([]byte(text), &body)
	if err == nil && body != nil {
		return body, nil
	}
	message := "The JSON is no object"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := strings.Count(text[:min(int(syntax.Offset), len(text))], "\n") + 1
		message = "The JSON cannot be read in line " + itoa(line) + ": " + syntax.Error()
	}
	return nil, wrongField("json", message+". Nothing was saved.")
}
