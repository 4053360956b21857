/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/control.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/nvme_server/stat_file.h"

static void add_number(struct json_object *o, const char *key, uint64_t number)
{
	json_object_object_add(o, key, json_object_new_uint64(number));
}

/* Returns the object of a server or of a client. */
static struct json_object *make_row(const char *kind, const char *name,
				    const struct adv_gateway_counts *c)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, kind, json_object_new_string(name));
	add_number(o, "calls", c->calls);
	add_number(o, "errors", c->errors);
	add_number(o, "call_bytes", c->call_bytes);
	add_number(o, "reply_bytes", c->reply_bytes);
	add_number(o, "timed_calls", c->timed);
	add_number(o, "ns", c->ns);
	return o;
}

static void add_client(struct json_object *list, const struct adv_gateway_client *c)
{
	struct json_object *o = make_row("client", c->address, &c->counts);

	add_number(o, "connections", c->connections);
	json_object_array_add(list, o);
}

static void send_statistics(const struct adv_gateway_control *c, int fd)
{
	struct adv_gateway_counts total = adv_gateway_stats_total(c->stats);
	struct json_object *top = json_object_new_object();
	struct json_object *servers = json_object_new_array(), *clients = json_object_new_array();
	const struct adv_gateway_client *others = &c->stats->others;

	add_number(top, "at_ns", adv_clock_ns());
	json_object_array_add(servers, make_row("server", c->server, &total));
	adv_list_for_each(struct adv_gateway_client, client, &c->stats->clients, link)
		add_client(clients, client);
	if (others->connections > 0 || others->counts.calls > 0)
		add_client(clients, others);
	json_object_object_add(top, "servers", servers);
	json_object_object_add(top, "clients", clients);
	adv_nvme_stat_file_send(top, fd);
}

static void close_watch(struct adv_loop *l, struct adv_watch *w)
{
	if (w->fd < 0)
		return;
	adv_loop_unwatch(l, w);
	close(w->fd);
	w->fd = -1;
}

static void answer_control_request(struct adv_watch *w, uint32_t events)
{
	struct adv_gateway_control *c =
		adv_container_of(w, struct adv_gateway_control_client, watch)->control;
	char text[sizeof(ADV_NVME_CONTROL_STAT)];
	ssize_t n = recv(w->fd, text, sizeof(text), MSG_DONTWAIT);

	if (n == (ssize_t)strlen(ADV_NVME_CONTROL_STAT) &&
	    memcmp(text, ADV_NVME_CONTROL_STAT, (size_t)n) == 0)
		send_statistics(c, w->fd);
	close_watch(c->loop, w);
}

/* Of too many clients, which say nothing, the oldest one is closed. */
static void accept_control_client(void *user, int fd)
{
	struct adv_gateway_control *c = user;
	struct adv_watch *client = &c->clients[c->next % ADV_GATEWAY_CONTROL_CLIENTS].watch;

	if (!adv_nvme_control_peer_allowed(fd, false)) {
		close(fd);
		return;
	}
	close_watch(c->loop, client);
	client->fd = fd;
	c->next++;
	if (adv_loop_watch(c->loop, client, EPOLLIN) != 0)
		close_watch(c->loop, client);
}

bool adv_gateway_control_open(struct adv_gateway_control *c, struct adv_loop *l,
			      const struct adv_gateway_stats *stats, const char *server,
			      const char *name, char why[ADV_NVME_CONTROL_REPLY])
{
	int fd;

	memset(c, 0, sizeof(*c));
	c->loop = l;
	c->stats = stats;
	c->server = server;
	for (unsigned i = 0; i < ADV_GATEWAY_CONTROL_CLIENTS; i++) {
		c->clients[i].watch = (struct adv_watch){-1, answer_control_request};
		c->clients[i].control = c;
	}
	fd = adv_nvme_control_listen(&adv_nvme_control_gateway, name, ADV_GATEWAY_CONTROL_CLIENTS,
				     why);
	if (fd < 0)
		return false;
	c->acceptor = adv_acceptor_adopt(l, fd, accept_control_client, c);
	if (c->acceptor)
		return true;
	snprintf(why, ADV_NVME_CONTROL_REPLY, "%s", strerror(errno));
	close(fd);
	return false;
}

void adv_gateway_control_close(struct adv_gateway_control *c)
{
	if (c->acceptor)
		adv_acceptor_destroy(c->acceptor);
	c->acceptor = NULL;
	for (unsigned i = 0; i < ADV_GATEWAY_CONTROL_CLIENTS; i++)
		close_watch(c->loop, &c->clients[i].watch);
}
