/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "storage/gateway/control.h"
#include "storage/gateway/peer.h"
#include "storage/kit/acceptor.h"

enum { END_POLL_MS = 10 };

/* A gateway with its end by a signal. */
struct adv_gateway_command {
	struct adv_gateway *gateway;
	const struct adv_gateway_service *service;
	struct adv_connections *connections;
	struct adv_acceptor *acceptor; /* clients use TCP */
	const struct adv_kit_address *at;
	struct adv_gateway_control control;
	struct adv_watch signals;
	struct adv_kit_timer end; /* looks whether all sessions have ended */
	int status;
};

static void accept_tcp_client(void *user, int fd)
{
	struct adv_gateway_command *c = user;

	c->service->accepted(c->gateway, c->connections, fd);
}

static void look_for_end(struct adv_kit_timer *t)
{
	struct adv_gateway_command *c = adv_container_of(t, struct adv_gateway_command, end);

	/* Clients may have connected since the last look. */
	c->service->close_all(c->gateway);
	if (adv_list_empty(&c->gateway->sessions))
		adv_loop_stop(c->gateway->loop);
	else
		adv_loop_start_timer(c->gateway->loop, t, END_POLL_MS);
}

static void begin_end(struct adv_gateway_command *c)
{
	if (c->acceptor)
		adv_acceptor_destroy(c->acceptor);
	c->acceptor = NULL;
	adv_loop_start_timer(c->gateway->loop, &c->end, 0);
}

static void handle_signal(struct adv_watch *w, uint32_t events)
{
	struct adv_gateway_command *c = adv_container_of(w, struct adv_gateway_command, signals);
	struct signalfd_siginfo info;

	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	begin_end(c);
}

void adv_gateway_refused(void *user, struct rdma_cm_id *id, int err)
{
	struct adv_gateway *g = user;
	char peer[ADV_GATEWAY_PEER];

	adv_gateway_name_id(peer, sizeof(peer), id);
	if (err == ECONNABORTED)
		adv_gateway_report(&g->log, ADV_LOG_INFO, "%s: it gave up while it was connecting",
				   peer);
	else
		adv_gateway_report(&g->log, ADV_LOG_WARN, "%s: connection refused: %s", peer,
				   strerror(err));
}

void adv_gateway_changed(void *user, enum adv_connections_change change, int err)
{
	struct adv_gateway *g = user;
	struct adv_gateway_command *c = g->command;

	switch (change) {
	case ADV_CONNECTIONS_LOST:
		adv_gateway_report(&g->log, ADV_LOG_WARN,
				   "the RDMA connections have ended: adverbd has ended, or the "
				   "device is gone");
		break;
	case ADV_CONNECTIONS_AGAIN:
		adv_gateway_report(&g->log, ADV_LOG_INFO, "%s again",
				   c->acceptor ? "RDMA connections can be made" : "listening");
		break;
	case ADV_CONNECTIONS_FAILED:
		if (c->acceptor)
			adv_gateway_report(&g->log, ADV_LOG_ERROR,
					   "no RDMA device: %s; the gateway ends", strerror(err));
		else
			adv_gateway_report(&g->log, ADV_LOG_ERROR,
					   "cannot listen again at %s: %s; the gateway ends",
					   c->at->host, strerror(err));
		c->status = EXIT_FAILURE;
		begin_end(c);
		break;
	}
}

static bool watch_signals(struct adv_gateway_command *c)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	c->signals.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	c->signals.ready = handle_signal;
	adv_kit_timer_init(&c->end, look_for_end);
	return c->signals.fd >= 0 && adv_loop_watch(c->gateway->loop, &c->signals, EPOLLIN) == 0;
}

static bool listen_at(struct adv_gateway_command *c, const struct sockaddr *at)
{
	c->connections = adv_connections_create(c->gateway->loop, c->service->ops, c->gateway);
	if (!c->connections)
		return false;
	if (!c->service->accepted)
		return adv_connections_listen(c->connections, at) == 0;
	c->acceptor = adv_acceptor_create(c->gateway->loop, at, accept_tcp_client, c);
	return c->acceptor != NULL;
}

/* Without a control socket the gateway runs, but its statistics cannot be read. */
static void open_control(struct adv_gateway_command *c)
{
	struct adv_gateway *g = c->gateway;
	const char *name = g->control ? g->control : c->at->port;
	char why[ADV_KIT_CONTROL_REPLY];

	if (!adv_gateway_control_open(&c->control, g->loop, &g->stats, g->server_name, name, why))
		adv_gateway_report(&g->log, ADV_LOG_WARN, "no control socket '%s': %s", name, why);
}

/* Listens and forwards until a signal. */
static void serve_until_signal(struct adv_gateway_command *c)
{
	const struct adv_kit_address *at = c->at;

	if (!watch_signals(c)) {
		fprintf(stderr, "cannot wait for signals: %s\n", strerror(errno));
		return;
	}
	if (listen_at(c, (const struct sockaddr *)&at->sa)) {
		open_control(c);
		printf("%s over %s at %s port %s, for the server %s\n", c->service->name,
		       c->service->accepted ? "TCP" : "RDMA", at->host, at->port,
		       c->gateway->server_name);
		fflush(stdout);
		c->status = EXIT_SUCCESS;
		adv_loop_run(c->gateway->loop);
		adv_gateway_control_close(&c->control);
	} else {
		fprintf(stderr, "cannot listen at %s port %s: %s\n", at->host, at->port,
			strerror(errno));
	}
	if (c->acceptor)
		adv_acceptor_destroy(c->acceptor);
	if (c->connections)
		adv_connections_destroy(c->connections);
}

int adv_gateway_serve(struct adv_gateway *g, const struct adv_gateway_service *service,
		      const struct adv_kit_address *at, const struct adv_kit_address *to)
{
	struct adv_gateway_command c = {.gateway = g,
					.service = service,
					.at = at,
					.signals.fd = -1,
					.status = EXIT_FAILURE};

	g->command = &c;
	adv_log_for_server("adverb-gateway");
	g->log.port = at->port;
	g->server = to->sa;
	snprintf(g->server_name, sizeof(g->server_name), "%s port %s", to->host, to->port);
	adv_gateway_stats_init(&g->stats);
	adv_list_init(&g->sessions);
	adv_list_init(&g->message_turns);
	g->loop = adv_loop_create();
	if (g->loop) {
		serve_until_signal(&c);
		adv_loop_destroy(g->loop);
	}
	adv_gateway_stats_free(&g->stats);
	if (c.signals.fd >= 0)
		close(c.signals.fd);
	return c.status;
}
