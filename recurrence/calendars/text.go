package calendars

import (
	"regexp"
	"strings"

	"almanac/recurrence"
)

var plainName = regexp.MustCompile(`^[\p{L}\p{N}]([\p{L}\p{N}._-]*[\p{L}\p{N}_-])?$`)

// Quoted returns the name of a calendar as it stands in English: in quotation marks unless it is one word.
func Quoted(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return `"` + name + `"`
}

// Describe returns what becomes of an occurrence on a day that a calendar of that name matches, in English, to stand after
// a rule. Package [almanac/recurrence/english] reads it.
func (p Policy) Describe(name string) string {
	name = Quoted(name)
	off := "if that is a day off in " + name + ", on the "
	switch p {
	case Only:
		return "only on days of " + name
	case NextWorkingDay:
		return off + "next working day"
	case PreviousWorkingDay:
		return off + "working day before"
	case NextWorkingDayInMonth:
		return off + "next working day, or the one before if that is in another month"
	case PreviousWorkingDayInMonth:
		return off + "working day before, or the next one if that is in another month"
	}
	return "not on days off in " + name
}

// DescribeWorkingDays returns the text of a rule of months with the numbers of its working days: they stand in place of
// "every day" if the rule names no other days.
func DescribeWorkingDays(text string, numbers []int, otherDays bool) string {
	if len(numbers) == 0 {
		return text
	}
	var words []string
	for _, n := range numbers {
		words = append(words, recurrence.Counted(n))
	}
	days := strings.Join(words, " and ") + " working day"
	if !otherDays {
		return strings.Replace(text, "every day", days, 1)
	}
	return text + ", only on " + days + " of the month"
}
