/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/control.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/gateway/stat_client.h"

/* Adds the server or a client to its list. */
static void add_row(struct json_object *const *lists, unsigned list, const char *name,
		    unsigned connections, const struct adv_gateway_counts *c)
{
	struct adv_kit_stat_row row = {.list = list, .gauge = connections};

	snprintf(row.name, sizeof(row.name), "%s", name);
	memcpy(row.counts, c, sizeof(*c));
	adv_kit_stat_add(&adv_gateway_stat_kind, lists, &row);
}

static void send_statistics(const struct adv_gateway_control *c, int fd)
{
	struct adv_gateway_counts total = adv_gateway_stats_total(c->stats);
	struct json_object *lists[] = {json_object_new_array(), json_object_new_array()};
	const struct adv_gateway_client *others = &c->stats->others;

	add_row(lists, 0, c->server, 0, &total);
	adv_list_for_each(struct adv_gateway_client, client, &c->stats->clients, link)
		add_row(lists, 1, client->address, client->connections, &client->counts);
	if (others->connections > 0 || others->counts.calls > 0)
		add_row(lists, 1, others->address, others->connections, &others->counts);
	adv_kit_stat_send(&adv_gateway_stat_kind, lists, fd);
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
	char text[sizeof(ADV_KIT_CONTROL_STAT)];
	ssize_t n = recv(w->fd, text, sizeof(text), MSG_DONTWAIT);

	if (n == (ssize_t)strlen(ADV_KIT_CONTROL_STAT) &&
	    memcmp(text, ADV_KIT_CONTROL_STAT, (size_t)n) == 0)
		send_statistics(c, w->fd);
	close_watch(c->loop, w);
}

/* Of too many clients, which say nothing, the oldest one is closed. */
static void accept_control_client(void *user, int fd)
{
	struct adv_gateway_control *c = user;
	struct adv_watch *client = &c->clients[c->next % ADV_GATEWAY_CONTROL_CLIENTS].watch;

	if (!adv_kit_control_peer_allowed(fd, false)) {
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
			      const char *name, char why[ADV_KIT_CONTROL_REPLY])
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
	fd = adv_kit_control_listen(&adv_kit_control_gateway, name, ADV_GATEWAY_CONTROL_CLIENTS,
				    why);
	if (fd < 0)
		return false;
	c->acceptor = adv_acceptor_adopt(l, fd, accept_control_client, c);
	if (c->acceptor)
		return true;
	snprintf(why, ADV_KIT_CONTROL_REPLY, "%s", strerror(errno));
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
