// Command run starts the emulators of Azure with the queues and topics of the examples, and
// prints each message that arrives, until it is interrupted.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"golang.org/x/sync/errgroup"

	"almanac/internal/emulators"
	"almanac/internal/help"
)

// The queues and topics of the examples.
const (
	orders = "orders" // a storage queue, and a queue of Service Bus
	news   = "news"   // a topic of Service Bus
	all    = "all"    // its subscription
)

// The ports are those on which Azurite and AMQP over TLS are by default.
const (
	azuritePort    = 10001
	serviceBusPort = 5671
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		log.Fatalf("emulators: %v", err)
	}
}

const usage = `Usage: go run ./internal/emulators/run

Start emulators of Azure, and print each message that arrives, until Ctrl-C:

  - Azurite, Microsoft's storage emulator, on 127.0.0.1:%d, with the queue %s
  - a small Service Bus on 127.0.0.1:%d, with the queue %s and the topic %s

It prints the command that starts "almanac dev" with these emulators. The jobs in
examples/ then run unchanged. It needs Node 20 and npm, which installs both programs once.
`

// parse refuses all arguments except those for help.
func parse(args []string, output io.Writer) error {
	flags := flag.NewFlagSet("emulators", flag.ContinueOnError)
	return help.Parse(flags, fmt.Sprintf(usage, azuritePort, orders, serviceBusPort, orders, news), args, output)
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "emulators-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	modules, err := emulators.Install(ctx)
	if err != nil {
		return err
	}
	azurite, err := emulators.RunAzurite(ctx, modules, emulators.AzuriteOptions{Port: azuritePort, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { _ = azurite.Stop() }() // an interrupt may have stopped it already
	certFile, keyFile, err := emulators.WriteCertificate(dir, "*.servicebus.windows.net")
	if err != nil {
		return err
	}
	bus, err := emulators.RunServiceBus(ctx, modules, emulators.ServiceBusOptions{
		Port: serviceBusPort, CertFile: certFile, KeyFile: keyFile, Log: os.Stderr,
		Queues: []emulators.ServiceBusQueue{{Name: orders}},
		Topics: []emulators.ServiceBusTopic{{Name: news, Subscriptions: []string{all}}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = bus.Stop() }()
	client, err := busClient(bus, certFile)
	if err != nil {
		return err
	}
	fmt.Printf("Storage account %s with queue %s; Service Bus namespace %s with queue %s and topic %s. In another terminal:\n\n",
		emulators.AzuriteAccount, orders, emulators.ServiceBusNamespace, orders, news)
	fmt.Printf("  go run ./cmd/almanac dev --storage-queue-endpoint '%s' --service-bus-endpoint %s --ca-file %s\n\n",
		azurite.Endpoint(), bus.Address, certFile)
	return watch(ctx, azurite, client)
}

// busClient returns a client of the official SDK.
func busClient(bus *emulators.ServiceBus, certFile string) (*azservicebus.Client, error) {
	certificate, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return azservicebus.NewClientFromConnectionString(
		"Endpoint=sb://"+emulators.ServiceBusNamespace+".servicebus.windows.net/;SharedAccessKeyName="+emulators.ServiceBusKeyName+";SharedAccessKey="+emulators.ServiceBusKey,
		&azservicebus.ClientOptions{CustomEndpoint: bus.Address, TLSConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}})
}

// watch prints messages until ctx ends or receiving fails.
func watch(ctx context.Context, azurite *emulators.Azurite, bus *azservicebus.Client) error {
	once := &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}
	queue, err := bus.NewReceiverForQueue(orders, once)
	if err != nil {
		return err
	}
	topic, err := bus.NewReceiverForSubscription(news, all, once)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return watchStorage(ctx, azurite) })
	group.Go(func() error { return watchBus(ctx, queue, "Service Bus queue "+orders) })
	group.Go(func() error { return watchBus(ctx, topic, "Service Bus topic "+news) })
	return group.Wait()
}

func watchStorage(ctx context.Context, azurite *emulators.Azurite) error {
	queue, err := azurite.Queue(orders)
	if err != nil {
		return err
	}
	if _, err := queue.Create(ctx, nil); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		texts, err := emulators.Take(ctx, queue)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if envelope, err := base64.StdEncoding.DecodeString(text); err == nil {
				text = string(envelope)
			}
			log.Printf("storage queue %s\n%s", orders, text)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func watchBus(ctx context.Context, receiver *azservicebus.Receiver, name string) error {
	for {
		messages, err := receiver.ReceiveMessages(ctx, 1, nil)
		if err != nil {
			return fmt.Errorf("receive from %s: %w", name, err)
		}
		for _, m := range messages {
			log.Printf("%s\n%s", name, m.Body)
		}
	}
}
