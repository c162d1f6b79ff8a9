package flags

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A Value is the type of a setting: how its text is read and stored.
type Value struct {
	Kind    string   // shown after the flag
	Allowed string   // which values are allowed
	Range   bool     // Allowed is a range
	Words   []string // offered for completion

	read     func(text string) error // the error says what is wrong with the text
	complete cobra.ShellCompDirective
	optional bool   // the empty text is allowed, also in the variable
	list     bool   // the flag may be given several times
	between  string // joins the texts of a list
}

// NewValue returns the type of a value with a reader, whose error says what is wrong with a text. Completion
// offers words and no files.
func NewValue(kind, allowed string, read func(text string) error, words ...string) Value {
	return Value{Kind: kind, Allowed: allowed, Words: words, read: read, complete: cobra.ShellCompDirectiveNoFileComp}
}

// Optional returns v, or nothing: an empty text replaces the default.
func Optional(v Value) Value { v.optional = true; return v }

const kindBool = "bool"

// Bool is true or false. Its flag needs no value.
func Bool(to *bool) Value {
	return NewValue(kindBool, "true or false", func(text string) (err error) {
		if *to, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		return nil
	})
}

// Form is a text that ok accepts. A text that it does not accept is not the noun, which has an article.
func Form(kind, noun, allowed string, to *string, ok func(string) bool) Value {
	return NewValue(kind, allowed, func(text string) error {
		if *to = text; !ok(text) {
			return fmt.Errorf("%q is not %s", Redacted(text), noun)
		}
		return nil
	})
}

// Text is any text.
func Text(kind string, to *string) Value {
	return NewValue(kind, "", func(text string) error { *to = text; return nil })
}

// File is the name of a file, or one of some words.
func File(to *string, words ...string) Value {
	v := Text("file", to)
	v.Words, v.complete = words, cobra.ShellCompDirectiveDefault
	return v
}

// Directory is the name of a directory.
func Directory(to *string) Value {
	v := Text("directory", to)
	v.complete = cobra.ShellCompDirectiveFilterDirs
	return v
}

// Choice is one of a few words.
func Choice(to *string, words ...string) Value {
	return NewValue(strings.Join(words, "|"), strings.Join(words, ", "), func(text string) error {
		if *to = text; !slices.Contains(words, text) {
			return fmt.Errorf("unknown value %q", text)
		}
		return nil
	}, words...)
}

// HostPort is the host:port of a server or a listener.
func HostPort(to *string, example string) Value {
	return Form("host:port", "host:port", "a host and a port such as "+example, to, func(text string) bool {
		_, port, err := net.SplitHostPort(text)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		return err == nil
	})
}

// List is a list separated by commas or blanks; its flag may be given several times. The error of check says what is
// wrong with it and what is allowed.
func List(kind string, to *[]string, check func([]string) error) Value {
	v := NewValue(kind, "", func(text string) error {
		*to = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		return check(*to)
	})
	v.list, v.between = true, ","
	return v
}

// Lines is texts that hold no line end; its flag may be given several times, once for each.
func Lines(kind string, to *[]string) Value {
	v := NewValue(kind, "", func(text string) error { *to = strings.Split(text, "\n"); return nil })
	v.list, v.between = true, "\n"
	return v
}

// Duration is a duration from least to most, both included. For a text that is refused, *to stays 0.
func Duration(to *time.Duration, least, most time.Duration) Value {
	v := NewValue("duration", Short(least)+" to "+Short(most), func(text string) error {
		d, err := parseDuration(text)
		_, number := strconv.ParseFloat(text, 64)
		switch {
		case err != nil && number == nil:
			return fmt.Errorf("%s has no unit, such as s for seconds", text)
		case err != nil:
			return fmt.Errorf("%q is not a duration such as 500ms, 20s or 1m30s", text)
		case d < least:
			return fmt.Errorf("%s is too short", text)
		case d > most:
			return fmt.Errorf("%s is too long", text)
		}
		*to = d
		return nil
	})
	v.Range = true
	return v
}

// Int is an integer from least to most, both included. If most is [math.MaxInt], there is no upper limit.
func Int(to *int, least, most int) Value {
	allowed := fmt.Sprintf("%d to %d", least, most)
	if most == math.MaxInt {
		allowed = fmt.Sprintf("%d or more", least)
	}
	v := NewValue("int", allowed, func(text string) error {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return fmt.Errorf("%q is not an integer", text)
		case n < least:
			return fmt.Errorf("%s is too low", text)
		case n > most:
			return fmt.Errorf("%s is too high", text)
		}
		*to = n
		return nil
	})
	v.Range = true
	return v
}

// Size is a number of bytes, with or without a unit.
func Size(to *uint64) Value {
	return NewValue("size", "a number of bytes such as 256MiB, 2GiB or 0", func(text string) error {
		number, factor := text, uint64(1)
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if rest, ok := strings.CutSuffix(text, unit); ok {
				number, factor = rest, 1<<(10*(i+1))
			}
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || n > math.MaxUint64/factor {
			return fmt.Errorf("%q is not a number of bytes", text)
		}
		*to = n * factor
		return nil
	})
}

// Time is a time in RFC 3339.
func Time(to *time.Time) Value {
	return NewValue("time", "RFC 3339 such as 2026-01-31T08:00:00Z", func(text string) (err error) {
		if *to, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("%q is not a time with its offset from UTC", text)
		}
		return nil
	})
}

// day is a unit that [time.ParseDuration] does not have.
const day = 24 * time.Hour

// parseDuration reads a duration, or a whole number of days such as 60d.
func parseDuration(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseInt(number, 10, 32)
		if err != nil || time.Duration(days) > math.MaxInt64/day {
			return 0, fmt.Errorf("%q is not a number of days", text)
		}
		return time.Duration(days) * day, nil
	}
	return time.ParseDuration(text)
}

// Short returns a duration without units that are zero: 10m, not 10m0s. From two days on, whole days are 2d.
func Short(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return strings.Replace(strings.Replace(d.String(), "m0s", "m", 1), "h0m", "h", 1)
}

// Redacted returns a text without what may be the user and the password of a URL.
func Redacted(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

// IsWebURL reports whether text is an absolute http or https URL.
func IsWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// PublicURL is a URL that paths can be appended to.
func PublicURL(to **url.URL) Value {
	return NewValue("URL", "an http or https URL without a user, a query and a fragment, such as "+
		"https://jobs.example.com", func(text string) (err error) {
		if *to, err = url.Parse(text); err != nil || !IsWebURL(text) || (*to).User != nil || strings.ContainsAny(text, "?#") {
			*to = nil
			return fmt.Errorf("%q cannot begin a link", Redacted(text))
		}
		return nil
	})
}
