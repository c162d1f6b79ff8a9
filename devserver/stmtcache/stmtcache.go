// Package stmtcache is a database/sql driver that runs the statements of an SQLite connection without compiling
// each of them anew. The driver below it, modernc.org/sqlite, compiles a statement whenever it is run by its
// text, which is how Temporal's server runs all of them.
package stmtcache

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxIdle is how many compiled statements a connection keeps, at some kilobytes each. The Temporal server has
// fewer, but the texts of its inserts of several rows and of its lists of workflows vary.
const maxIdle = 256

// rawConn is what connections of modernc.org/sqlite implement.
type rawConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// rawStmt is what its statements implement.
type rawStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// A Driver is the wrapped driver. Databases of this type keep compiled statements.
type Driver struct{ driver.Driver }

// A Connector opens connections that keep their compiled statements.
type Connector struct {
	driver  driver.Driver
	dsn     string
	rewrite *strings.Replacer
}

// NewConnector returns a connector for the driver and the database that dsn names. What rewrite finds in the text of
// a statement that is kept is replaced before the statement is compiled; it must leave the arguments as they are.
func NewConnector(d driver.Driver, dsn string, rewrite *strings.Replacer) *Connector {
	return &Connector{driver: d, dsn: dsn, rewrite: rewrite}
}

// Driver returns a [Driver].
func (c *Connector) Driver() driver.Driver { return Driver{Driver: c.driver} }

// Connect opens a connection.
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	raw, ok := opened.(rawConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connections of type %T lack methods that are needed to keep compiled statements", opened), opened.Close())
	}
	return &conn{rawConn: raw, rewrite: c.rewrite, idle: make(map[string]*statement), running: make(map[*statement]struct{})}, nil
}

// A conn is used by one goroutine at a time, as database/sql does, and so are its rows.
type conn struct {
	rawConn
	rewrite *strings.Replacer
	idle    map[string]*statement // by text; none of them is running
	running map[*statement]struct{}
	uses    uint64
}

// A statement is compiled. While it runs it belongs to its rows.
type statement struct {
	rawStmt
	text     string
	compiled string // the text after what was replaced
	used     uint64
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !cacheable(text) {
		return c.rawConn.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err := c.finish(s, err); err != nil {
		return nil, err
	}
	return result, nil
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !cacheable(text) {
		return c.rawConn.QueryContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, c.finish(s, err)
	}
	return &rows{Rows: r, conn: c, statement: s}, nil
}

// cacheable reports whether the statement may be run again from its compiled form. Others, such as PRAGMA, may
// take effect when they are compiled, or are run once.
func cacheable(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	verb, _, _ := strings.Cut(text[:min(len(text), len("SELECT "))], " ")
	return slices.Contains([]string{"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"}, strings.ToUpper(verb))
}

// take returns a statement that is not running.
func (c *conn) take(ctx context.Context, text string) (*statement, error) {
	s, ok := c.idle[text]
	if ok {
		delete(c.idle, text)
	} else {
		compiled := c.rewrite.Replace(text)
		prepared, err := c.PrepareContext(ctx, compiled)
		if err != nil {
			return nil, err
		}
		raw, ok := prepared.(rawStmt)
		if !ok {
			return nil, errors.Join(fmt.Errorf("statements of type %T cannot be run again", prepared), prepared.Close())
		}
		s = &statement{rawStmt: raw, text: text, compiled: compiled}
	}
	c.running[s] = struct{}{}
	return s, nil
}

// finish keeps a statement that has ended, or closes it after an error, which it returns.
func (c *conn) finish(s *statement, err error) error {
	delete(c.running, s)
	if err != nil {
		_ = s.Close() // repeats the error
		return err
	}
	if _, kept := c.idle[s.text]; kept { // two with this text ran at once
		return s.Close()
	}
	c.uses++
	s.used = c.uses
	c.idle[s.text] = s
	if len(c.idle) <= maxIdle {
		return nil
	}
	oldest := s
	for _, other := range c.idle {
		if other.used < oldest.used {
			oldest = other
		}
	}
	delete(c.idle, oldest.text)
	return oldest.Close()
}

// Kept returns the statements that the connection keeps, as they were compiled.
func (c *conn) Kept() []string {
	var texts []string
	for _, s := range c.idle {
		texts = append(texts, s.compiled)
	}
	return texts
}

// Close closes all statements and the connection.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.idle {
		errs = append(errs, s.Close())
	}
	for s := range c.running {
		errs = append(errs, s.Close())
	}
	c.idle, c.running = nil, nil
	return errors.Join(append(errs, c.rawConn.Close())...)
}

// rows give their statement back when they are closed.
type rows struct {
	driver.Rows
	conn      *conn
	statement *statement
}

// Close reports the error of the last step of the statement again, if there was one.
func (r *rows) Close() error {
	if _, running := r.conn.running[r.statement]; !running { // closed before, or with the connection
		return nil
	}
	return r.conn.finish(r.statement, r.Rows.Close())
}
