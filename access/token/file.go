package token

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"almanac/access"
)

// An Entry is a token in the file.
type Entry struct {
	Name    string // unique in the file
	Hash    Hash
	Expires time.Time    // zero for never
	Grant   access.Grant // zero if it has assignments alone
}

// Expired reports whether the token is of no use any more.
func (e *Entry) Expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// Line returns the entry as a line of the file, without the line end. Scope is written as given.
func (e *Entry) Line(scope string) string { return "- " + e.flow(scope) }

// flow returns the entry as a mapping between braces, which a file that was cut off lacks.
func (e *Entry) flow(scope string) string {
	name := e.Name
	var value yaml.Node
	if err := yaml.Unmarshal([]byte(name), &value); err != nil || value.Content[0].Tag != "!!str" { // such as null or 12
		name = quoted(name)
	}
	line := fmt.Sprintf("{name: %s, sha256: %x", name, e.Hash)
	if e.Grant.Role > 0 {
		line += fmt.Sprintf(", role: %s, scope: %s", e.Grant.Role, quoted(scope))
	}
	if !e.Expires.IsZero() {
		line += ", expires: " + e.Expires.UTC().Format(time.RFC3339)
	}
	return line + "}"
}

// quoted returns a text as a scalar between quotes of YAML.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// AllowedNames says which names a token may have.
const AllowedNames = "1 to 64 letters, digits, dots, dashes and underscores, with a letter or a digit first"

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName returns an error if a token cannot have the name.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%.80q cannot be the name of a token", name)
	}
	return nil
}

// A Set is the tokens of a file. It does not change, and is safe for concurrent use.
type Set struct {
	list   []Entry
	lines  [][2]int             // of each entry in the file: the first and the last, from 1
	byHash map[uint64][]*Holder // by the first bytes of the hash
}

// Parse reads a file of tokens: a list of mappings. The error lists the mistakes, with their lines.
func Parse(text []byte, d access.Defaults) (*Set, error) {
	s := &Set{byHash: map[uint64][]*Holder{}}
	root, err := access.ParseYAML(text)
	if err != nil || root == nil {
		return s, err
	}
	var r access.YAMLReader
	names, hashes := map[string]int{}, map[Hash]int{}
	for i, n := range r.Sequence(root, "") {
		path := fmt.Sprintf("[%d]", i)
		e, ok := readEntry(&r, n, path, d)
		if !ok {
			continue
		}
		if line, taken := names[e.Name]; taken {
			r.Fail(n, path+".name", fmt.Sprintf("line %d has a token named %s, too", line, e.Name), "names that differ")
		}
		if line, taken := hashes[e.Hash]; taken {
			r.Fail(n, path+".sha256", fmt.Sprintf("line %d has the same token", line), "each token once")
		}
		names[e.Name], hashes[e.Hash] = n.Line, n.Line
		s.list, s.lines = append(s.list, e), append(s.lines, [2]int{n.Line, access.LastLine(n)})
		s.byHash[index(e.Hash)] = append(s.byHash[index(e.Hash)], newHolder(e))
	}
	r.CheckEnd(root, text)
	return s, r.Err()
}

func readEntry(r *access.YAMLReader, n *yaml.Node, path string, d access.Defaults) (e Entry, ok bool) {
	members, ok := r.Mapping(n, path, "name", "sha256", "role", "scope", "expires")
	if !ok {
		return e, false
	}
	name, hash, role, scope, expires := members[0], members[1], members[2], members[3], members[4]
	if e.Name = r.Text(name, n, path+".name"); e.Name != "" {
		if err := CheckName(e.Name); err != nil {
			r.Fail(name, path+".name", err.Error(), AllowedNames)
		}
	}
	if text := r.Text(hash, n, path+".sha256"); text != "" {
		decoded, err := hex.DecodeString(text)
		if err != nil || len(decoded) != len(e.Hash) {
			r.Fail(hash, path+".sha256", "it is no hash", "64 hexadecimal digits, as almanac token create prints them")
		}
		copy(e.Hash[:], decoded)
	}
	if role != nil || scope != nil {
		e.Grant = access.ReadGrant(r, role, scope, n, path, d)
	}
	if expires != nil {
		var err error
		if e.Expires, err = time.Parse(time.RFC3339, expires.Value); err != nil {
			r.Fail(expires, path+".expires", "it is no time", "RFC 3339 such as 2026-12-31T23:59:59Z, or nothing for a token that never expires")
		}
	}
	return e, true
}

// Entries returns the tokens in the order of the file.
func (s *Set) Entries() []Entry { return s.list }

// Append returns the text of a file with a further token at its end. It must be a file that [Parse] accepts, whose
// lists have no brackets; [Add] takes any.
func Append(text []byte, e Entry, scope string) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return append(text, e.Line(scope)+"\n"...)
}

// index is where a hash is looked up. Its duration gives nothing away to a caller who guesses tokens: the hash of a
// guess cannot be chosen.
func index(h Hash) uint64 { return binary.BigEndian.Uint64(h[:]) }
