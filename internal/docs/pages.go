// Package docs reads the pages of the documentation, so that tests can hold them against the
// program.
package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A Part of a page is prose, or a block of code.
type Part struct {
	Text     string
	Code     bool   // whether it stood between fences
	Language string // of code, such as sh; may be empty
}

// Parse splits a page of Markdown into prose and blocks of code, in their order.
func Parse(text string) []Part {
	var parts []Part
	var part Part
	end := func(next Part) {
		if part.Code || part.Text != "" {
			parts = append(parts, part)
		}
		part = next
	}
	for line := range strings.Lines(text) {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && part.Code:
			end(Part{})
		case isFence:
			end(Part{Code: true, Language: fence})
		default:
			part.Text += line
		}
	}
	end(Part{})
	return parts
}

// Anchors returns the names of a page's headings in links to them, as GitHub makes them.
func Anchors(parts []Part) []string {
	var anchors []string
	for _, part := range parts {
		if part.Code {
			continue
		}
		for line := range strings.Lines(part.Text) {
			heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
			if !ok || !strings.HasPrefix(line, "#") {
				continue
			}
			anchor := slug(strings.TrimSpace(heading))
			for n := 1; slices.Contains(anchors, anchor); n++ {
				anchor = fmt.Sprintf("%s-%d", slug(strings.TrimSpace(heading)), n)
			}
			anchors = append(anchors, anchor)
		}
	}
	return anchors
}

var inlineLink = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, inlineLink.ReplaceAllString(heading, "$1"))
}

// Commands splits a block of shell code into commands. A command continues over several lines while a
// single quote is open or a line ends in a backslash.
func Commands(code string) []string {
	var commands []string
	var command string
	for line := range strings.Lines(code) {
		command += line
		if strings.Count(command, "'")%2 == 1 || strings.HasSuffix(command, "\\\n") {
			continue
		}
		if c := strings.TrimSpace(command); c != "" && !strings.HasPrefix(c, "#") {
			commands = append(commands, c)
		}
		command = ""
	}
	return commands
}
