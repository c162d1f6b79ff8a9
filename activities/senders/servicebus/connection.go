package servicebus

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/google/uuid"

	"almanac/activities/lease"
	"almanac/internal/pool"
)

const (
	claimLifetime = 2 * time.Hour
	// claimMargin is how long before its token expires a link is replaced, for an attempt's duration
	// and clock skew.
	claimMargin = 15 * time.Minute

	amqpWriteTimeout = 5 * time.Second // per frame; it limits how long an attempt that ends still waits
	detachTimeout    = 5 * time.Second
)

type busConnection struct {
	amqp  *amqp.Conn
	links *pool.Pool[string, *busLink] // by lower-cased entity
	claim chan struct{}                // a semaphore: a connection may have one link to $cbs
}

func (s *Sender) connect(ctx context.Context, t *busTarget) (*busConnection, error) {
	address := s.options.CustomEndpoint
	if address == "" {
		address = net.JoinHostPort(t.host, amqpsPort)
	}
	plain, err := s.options.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(plain, &tls.Config{ServerName: t.host, RootCAs: s.options.RootCAs, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, err
	}
	c, err := amqp.NewConn(ctx, secure, &amqp.ConnOptions{
		HostName:     t.host,
		SASLType:     amqp.SASLTypeAnonymous(), // authorization is by claims
		WriteTimeout: amqpWriteTimeout,
		Properties:   map[string]any{"product": "Almanac", "version": s.options.Version, "platform": runtime.GOOS},
	})
	if err != nil {
		_ = secure.Close()
		return nil, err
	}
	return &busConnection{amqp: c, links: pool.New[string, *busLink](maxLinks, s.options.IdleTimeout), claim: make(chan struct{}, 1)}, nil
}

func (c *busConnection) Alive() bool {
	select {
	case <-c.amqp.Done():
		return false
	default:
		return true
	}
}

func (c *busConnection) Close() {
	_ = c.amqp.Close() // the error is what broke it before
	c.links.Close()
}

// A busLink is a link over which messages are sent to one entity.
type busLink struct {
	session *amqp.Session
	sender  *amqp.Sender
	renew   time.Time     // when to replace it, before its token expires
	turn    chan struct{} // a semaphore: messages are written one at a time
}

// attach puts a token for the target's entity and opens a link to it.
func (c *busConnection) attach(ctx context.Context, t *busTarget) (*busLink, error) {
	expires := time.Now().Add(claimLifetime)
	audience := "amqps://" + t.host + "/" + t.entity
	token := sasToken(audience, t.Authentication.SASKeyName, t.Authentication.SASKey, expires)
	if err := c.putToken(ctx, audience, token, expires); err != nil {
		return nil, err
	}
	// A session per link, so that an error of one link does not affect others.
	session, err := c.amqp.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	sender, err := session.NewSender(ctx, t.entity, &amqp.SenderOptions{
		SettlementMode:              new(amqp.SenderSettleModeMixed),
		RequestedReceiverSettleMode: new(amqp.ReceiverSettleModeFirst),
	})
	if err != nil {
		end(ctx, session)
		return nil, err
	}
	return &busLink{session: session, sender: sender, renew: expires.Add(-claimMargin), turn: make(chan struct{}, 1)}, nil
}

func end(ctx context.Context, session *amqp.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), detachTimeout)
	defer cancel()
	_ = session.Close(ctx) // otherwise it ends with the connection
}

// unsendable is rejected before anything is sent: its tag exceeds the protocol's limit of 32 bytes.
var unsendable = &amqp.Message{DeliveryTag: make([]byte, 33)}

// Alive tests the link by sending unsendable, since the sender checks its link before the message. The
// service detaches links that are idle or moved; this detects it without failing a message.
func (l *busLink) Alive() bool {
	if !time.Now().Before(l.renew) {
		return false
	}
	_, err := l.sender.SendWithReceipt(context.Background(), unsendable, nil)
	return isRefusal(err)
}

func (l *busLink) Close() { end(context.Background(), l.session) }

// send transfers a message and waits for the outcome.
func (l *busLink) send(ctx context.Context, message *amqp.Message) error {
	receipt, err := l.transfer(ctx, message)
	if err != nil {
		return err
	}
	state, err := receipt.Wait(ctx)
	if err != nil {
		return err
	}
	switch state := state.(type) {
	case *amqp.StateAccepted:
		return nil
	case *amqp.StateRejected:
		if state.Error != nil {
			return state.Error
		}
		return &amqp.Error{Condition: "amqp:rejected"}
	case *amqp.StateReleased:
		return &amqp.Error{Condition: "amqp:released"}
	default:
		return &amqp.Error{Condition: "amqp:modified"}
	}
}

// transfer writes a message when no other is being written.
func (l *busLink) transfer(ctx context.Context, message *amqp.Message) (amqp.SendReceipt, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return amqp.SendReceipt{}, context.Cause(ctx)
	}
	if !lease.MayBegin(ctx) {
		return amqp.SendReceipt{}, lease.ErrOver
	}
	lease.Begun(ctx)
	receipt, err := l.sender.SendWithReceipt(ctx, message, nil)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return receipt, err
}

// A claimError is the service's refusal of a token.
type claimError struct {
	status      int // an HTTP status
	description string
}

func (e *claimError) Error() string { return fmt.Sprintf("%d %s", e.status, e.description) }

// putToken puts a token for the connection, by the Claims-based Security protocol of the OASIS AMQP
// technical committee.
func (c *busConnection) putToken(ctx context.Context, audience, token string, expires time.Time) error {
	select {
	case c.claim <- struct{}{}:
		defer func() { <-c.claim }()
	case <-ctx.Done():
		return ctx.Err()
	}
	session, err := c.amqp.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	defer end(ctx, session)
	request := &amqp.Message{
		Value: token,
		ApplicationProperties: map[string]any{
			"operation":  "put-token",
			"type":       "servicebus.windows.net:sastoken",
			"name":       audience,
			"expiration": strconv.FormatInt(expires.Unix(), 10),
		},
	}
	response, err := ask(ctx, session, "$cbs", request)
	if err != nil {
		return err
	}
	status, _ := response.ApplicationProperties["status-code"].(int32)
	if status/100 != http.StatusOK/100 {
		description, _ := response.ApplicationProperties["status-description"].(string)
		return &claimError{int(status), description}
	}
	return nil
}

func ask(ctx context.Context, session *amqp.Session, node string, request *amqp.Message) (*amqp.Message, error) {
	sender, err := session.NewSender(ctx, node, nil)
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	receiver, err := session.NewReceiver(ctx, node, &amqp.ReceiverOptions{
		TargetAddress:             id,
		SettlementMode:            new(amqp.ReceiverSettleModeFirst),
		RequestedSenderSettleMode: new(amqp.SenderSettleModeSettled),
	})
	if err != nil {
		return nil, err
	}
	request.Properties = &amqp.MessageProperties{MessageID: id, ReplyTo: &id}
	if err := sender.Send(ctx, request, nil); err != nil {
		return nil, err
	}
	return receiver.Receive(ctx, nil)
}

// sasToken returns a shared access signature for a resource, as described in "Service Bus access
// control with Shared Access Signatures".
func sasToken(resource, keyName, key string, expires time.Time) string {
	resource = strings.ToLower(url.QueryEscape(resource))
	expiry := strconv.FormatInt(expires.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(resource + "\n" + expiry))
	signature := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%s&skn=%s", resource, url.QueryEscape(signature), expiry, url.QueryEscape(keyName))
}
