package azure

import (
	"errors"
	"strings"
	"unicode"
)

// An expression is one of a template: a literal, a call, or a member of one.
type expression struct {
	kind byte // 's' string, 'n' number, 'f' function, '.' member, '[' index
	text string
	of   *expression
	args []*expression
}

const (
	maxExpression      = 64 << 10
	maxExpressionDepth = 60
)

var errExpression = errors.New("an expression of the template cannot be read")

// A exprParser parses an expression.
type exprParser struct {
	text string
	at   int
}

// parseExpression parses what stands in brackets.
func parseExpression(text string) (*expression, error) {
	if len(text) > maxExpression {
		return nil, errExpression
	}
	p := exprParser{text: text}
	e, err := p.expression(0)
	if p.space(); err == nil && p.at != len(text) {
		err = errExpression
	}
	return e, err
}

func (p *exprParser) space() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
}

// takes skips a character, if it is next.
func (p *exprParser) takes(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *exprParser) expression(depth int) (*expression, error) {
	if depth > maxExpressionDepth {
		return nil, errExpression
	}
	e, err := p.primary(depth)
	for n := 0; err == nil; n++ {
		if n > maxExpressionDepth {
			return nil, errExpression
		}
		switch {
		case p.takes('.'):
			name := p.name()
			if name == "" {
				return nil, errExpression
			}
			e = &expression{kind: '.', text: name, of: e}
		case p.takes('['):
			var index *expression
			if index, err = p.expression(depth + 1); err == nil && !p.takes(']') {
				err = errExpression
			}
			e = &expression{kind: '[', of: e, args: []*expression{index}}
		default:
			return e, nil
		}
	}
	return nil, err
}

// primary parses a literal or a call.
func (p *exprParser) primary(depth int) (*expression, error) {
	p.space()
	if p.at == len(p.text) {
		return nil, errExpression
	}
	switch c := p.text[p.at]; {
	case c == '\'':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		begin := p.at
		for p.at++; p.at < len(p.text) && (p.text[p.at] >= '0' && p.text[p.at] <= '9'); p.at++ {
		}
		return &expression{kind: 'n', text: p.text[begin:p.at]}, nil
	}
	name := p.name()
	if name == "" || !p.takes('(') {
		return nil, errExpression
	}
	e := &expression{kind: 'f', text: name}
	if p.takes(')') {
		return e, nil
	}
	for {
		arg, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, arg)
		if p.takes(')') {
			return e, nil
		}
		if !p.takes(',') {
			return nil, errExpression
		}
	}
}

// string parses a string, in which two quotes stand for one.
func (p *exprParser) string() (*expression, error) {
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		if p.text[p.at] != '\'' {
			b.WriteByte(p.text[p.at])
			continue
		}
		if !strings.HasPrefix(p.text[p.at:], "''") {
			p.at++
			return &expression{kind: 's', text: b.String()}, nil
		}
		b.WriteByte('\'')
		p.at++
	}
	return nil, errExpression
}

func (p *exprParser) name() string {
	p.space()
	begin := p.at
	for p.at < len(p.text) {
		c := rune(p.text[p.at])
		later := p.at > begin && (unicode.IsDigit(c) || c == '-')
		if c != '_' && !unicode.IsLetter(c) && !later {
			break
		}
		p.at++
	}
	return p.text[begin:p.at]
}
