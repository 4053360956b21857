/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway nfs: the command. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "gateway/command.h"
#include "gateway/options.h"
#include "gateway/reverse.h"
#include "nvme_rdma/address.h"
#include "ulp/acceptor.h"

#define RDMA_PORT "20049"
#define TCP_PORT  "2049"

enum { END_POLL_MS = 10 };

/* The command: the gateway, with its end by a signal. */
struct command {
	struct adv_gateway gateway;
	bool reverse;
	struct adv_connections *connections;
	struct adv_acceptor *acceptor; /* --reverse */
	struct adv_watch signals;
	struct adv_timer end; /* looks whether all sessions have ended */
};

static bool device(void *user, struct adv_device *d)
{
	d->user = adv_gateway_buffers_create(user, d->pd, adv_gateway_retry);
	return d->user != NULL;
}

static void device_gone(void *user, struct adv_device *d)
{
	adv_gateway_buffers_destroy(d->user);
}

static void request(void *user, struct adv_device *d, struct rdma_cm_id *id,
		    const struct rdma_conn_param *param)
{
	adv_gateway_session_accept(user, d, id, param);
}

static bool reverse_device(void *user, struct adv_device *d)
{
	d->user = adv_gateway_buffers_create(user, d->pd, adv_gateway_reverse_retry);
	return d->user != NULL;
}

static void accepted(void *user, int fd)
{
	struct command *c = user;

	adv_gateway_reverse_accept(&c->gateway, c->connections, fd);
}

static const struct adv_connections_ops forward_ops = {device, device_gone, request};
static const struct adv_connections_ops reverse_ops = {reverse_device, device_gone, NULL};

static void look_for_end(struct adv_timer *t)
{
	struct command *c = adv_container_of(t, struct command, end);

	if (adv_list_empty(&c->gateway.sessions))
		adv_loop_stop(c->gateway.loop);
	else
		adv_loop_start_timer(c->gateway.loop, t, END_POLL_MS);
}

static void signalled(struct adv_watch *w, uint32_t events)
{
	struct command *c = adv_container_of(w, struct command, signals);
	struct signalfd_siginfo info;

	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (c->acceptor)
		adv_acceptor_destroy(c->acceptor);
	c->acceptor = NULL;
	if (c->reverse)
		adv_gateway_reverse_close_all(&c->gateway);
	else
		adv_gateway_close_all(&c->gateway);
	adv_loop_start_timer(c->gateway.loop, &c->end, 0);
}

static bool watch_signals(struct command *c)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	c->signals.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	c->signals.ready = signalled;
	adv_timer_init(&c->end, look_for_end);
	return c->signals.fd >= 0 && adv_loop_watch(c->gateway.loop, &c->signals, EPOLLIN) == 0;
}

static bool listen_at(struct command *c, const struct sockaddr *at)
{
	c->connections = adv_connections_create(
		c->gateway.loop, c->reverse ? &reverse_ops : &forward_ops, &c->gateway);
	if (!c->connections)
		return false;
	if (!c->reverse)
		return adv_connections_listen(c->connections, at) == 0;
	c->acceptor = adv_acceptor_create(c->gateway.loop, at, accepted, c);
	return c->acceptor != NULL;
}

/* Listens and forwards until a signal. */
static int serve(struct command *c, const struct adv_nvme_address *at)
{
	int status = EXIT_FAILURE;

	if (!watch_signals(c)) {
		fprintf(stderr, "cannot wait for signals: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (listen_at(c, (const struct sockaddr *)&at->sa)) {
		printf("NFS over %s at %s port %s, for the server %s\n",
		       c->reverse ? "TCP" : "RDMA", at->host, at->port, c->gateway.server_name);
		fflush(stdout);
		adv_loop_run(c->gateway.loop);
		status = EXIT_SUCCESS;
	} else {
		fprintf(stderr, "cannot listen at %s port %s: %s\n", at->host, at->port,
			strerror(errno));
	}
	if (c->acceptor)
		adv_acceptor_destroy(c->acceptor);
	if (c->connections)
		adv_connections_destroy(c->connections);
	return status;
}

int adv_gateway_nfs_main(int argc, char **argv)
{
	struct adv_gateway_nfs_options o;
	struct adv_nvme_address at, to;
	struct command c = {.signals.fd = -1};
	int status = EXIT_FAILURE;

	argp_parse(&adv_gateway_nfs_argp, argc, argv, 0, NULL, &o);
	if (!adv_nvme_address_parse(o.listen, o.reverse ? TCP_PORT : RDMA_PORT, true, &at) ||
	    !adv_nvme_address_parse(o.to, o.reverse ? RDMA_PORT : TCP_PORT, false, &to))
		return EXIT_FAILURE;
	c.reverse = o.reverse;
	c.gateway.server = to.sa;
	c.gateway.buffer_bytes = o.buffer_bytes;
	c.gateway.session_max = o.connections;
	c.gateway.timeout_ms = o.timeout_ms;
	snprintf(c.gateway.server_name, sizeof(c.gateway.server_name), "%s port %s", to.host,
		 to.port);
	adv_list_init(&c.gateway.sessions);
	c.gateway.loop = adv_loop_create();
	if (c.gateway.loop) {
		status = serve(&c, &at);
		adv_loop_destroy(c.gateway.loop);
	}
	if (c.signals.fd >= 0)
		close(c.signals.fd);
	return status;
}
