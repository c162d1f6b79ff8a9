// Package contexts keeps the places that a user works at: the URL of an API, who calls it, and where in it names are.
package contexts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"almanac/internal/fields"
	"almanac/internal/files"
)

// A Context is a place.
type Context struct {
	URL           string `yaml:"url" json:"url"`
	TokenFile     string `yaml:"tokenFile,omitempty" json:"tokenFile,omitempty"` // of the text of a token
	CAFile        string `yaml:"caFile,omitempty" json:"caFile,omitempty"`
	Subscription  string `yaml:"subscription,omitempty" json:"subscription,omitempty"`
	ResourceGroup string `yaml:"resourceGroup,omitempty" json:"resourceGroup,omitempty"`
	Collection    string `yaml:"collection,omitempty" json:"collection,omitempty"`

	// Where people log in, if the API does not say.
	OIDCIssuer   string   `yaml:"oidcIssuer,omitempty" json:"oidcIssuer,omitempty"`
	OIDCClientID string   `yaml:"oidcClientID,omitempty" json:"oidcClientID,omitempty"`
	OIDCScopes   []string `yaml:"oidcScopes,omitempty" json:"oidcScopes,omitempty"`
}

// CheckURL returns an error about the URL of an API that has a user or a password: they would be shown, and they are not
// what Almanac knows callers by. The error does not have them.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.User == nil || err != nil && !strings.Contains(text, "@") {
		return nil // whatever else is wrong is for the client to say
	}
	return errors.New("the URL of the API has a user or a password; allowed: http or https, a host, and a path, " +
		"and a token in the file of --token-file")
}

// A File is all contexts of a user. The zero value has none.
type File struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts,omitempty"`
}

// Variable is the environment variable with the path of the file, if that is another one than [Path] returns.
const Variable = "ALMANAC_CONTEXTS"

// Path returns the path of the file: in the directory of the user's configuration, as [os.UserConfigDir] has it, or ""
// if that is not known. getenv is as [os.LookupEnv].
func Path(getenv func(string) (string, bool)) string {
	if path, _ := getenv(Variable); path != "" {
		return path
	}
	dir := configDir(getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "almanac", "contexts.yaml")
}

func configDir(getenv func(string) (string, bool)) string {
	value := func(name string) string { v, _ := getenv(name); return v }
	if runtime.GOOS == "windows" {
		return value("AppData")
	}
	home := value("HOME")
	switch {
	case runtime.GOOS == "darwin" && home != "":
		return filepath.Join(home, "Library", "Application Support")
	case runtime.GOOS != "darwin" && filepath.IsAbs(value("XDG_CONFIG_HOME")):
		return value("XDG_CONFIG_HOME")
	case home != "":
		return filepath.Join(home, ".config")
	}
	return ""
}

// Load reads a file. One that does not exist has no contexts.
func Load(path string) (*File, error) {
	if path == "" {
		return parse(nil)
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parse(text []byte) (*File, error) {
	f := new(File)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
	return f, nil
}

// Change changes a file, which is made for its owner alone if it does not exist. Changes by several programs happen one
// after the other.
func Change(path string, change func(*File) error) error {
	if path == "" {
		return errors.New("there is no directory for the file of contexts: set $HOME or $" + Variable)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Change(path, true, func(text []byte) ([]byte, error) {
		f, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := change(f); err != nil {
			return nil, err
		}
		return yaml.Marshal(f)
	})
}

// Find returns an error if there is no context of a name, which names the nearest.
func (f *File) Find(name string) (Context, error) {
	c, found := f.Contexts[name]
	if found {
		return c, nil
	}
	if near := fields.Nearest(name, f.Names()); near != "" {
		return c, fmt.Errorf("there is no context %q, did you mean %s?", name, near)
	}
	return c, fmt.Errorf("there is no context %q; \"almanac context list\" has those that there are", name)
}

// Names returns the names of the contexts, sorted.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.Contexts))
	for name := range f.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
