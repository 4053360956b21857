/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "storage/kit/address.h"
#include "storage/nvme_server/options.h"

enum { BACKLOG = 1024 };

struct listener {
	struct adv_list link;
	struct rdma_cm_id *id;
	struct adv_kit_address at;
};

static bool listen_at(struct adv_nvme_listeners *l, const char *text, char why[ADV_NVME_LISTEN_WHY])
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener || rdma_create_id(l->channel, &listener->id, NULL, RDMA_PS_TCP) != 0) {
		snprintf(why, ADV_NVME_LISTEN_WHY, "cannot make an RDMA endpoint: %s",
			 strerror(errno));
		free(listener);
		return false;
	}
	adv_list_add_tail(&l->ids, &listener->link);
	if (!adv_kit_address_parse(text, ADV_NVME_PORT, true, &listener->at)) {
		snprintf(why, ADV_NVME_LISTEN_WHY, "no address '%s'", text);
		return false;
	}
	if (rdma_bind_addr(listener->id, (struct sockaddr *)&listener->at.sa) == 0 &&
	    rdma_listen(listener->id, BACKLOG) == 0)
		return true;
	snprintf(why, ADV_NVME_LISTEN_WHY, "cannot listen at %s port %s: %s", listener->at.host,
		 listener->at.port, strerror(errno));
	return false;
}

static void report_listener(const struct adv_nvme_listeners *l, const struct adv_kit_address *at)
{
	if (l->log)
		fprintf(l->log, "listening at %s port %s\n", at->host, at->port);
	else
		adv_info("listening at %s port %s", at->host, at->port);
}

bool adv_nvme_listeners_open(struct adv_nvme_listeners *l, const struct adv_nvme_texts *addresses,
			     char why[ADV_NVME_LISTEN_WHY])
{
	adv_list_init(&l->ids);
	l->channel = rdma_create_event_channel();
	if (!l->channel || fcntl(l->channel->fd, F_SETFL, O_NONBLOCK) != 0) {
		snprintf(why, ADV_NVME_LISTEN_WHY, "no RDMA device: %s", strerror(errno));
		adv_nvme_listeners_close(l);
		return false;
	}
	for (size_t i = 0; i < addresses->count; i++) {
		if (!listen_at(l, addresses->at[i], why)) {
			adv_nvme_listeners_close(l);
			return false;
		}
	}
	adv_list_for_each(struct listener, listener, &l->ids, link)
		report_listener(l, &listener->at);
	return true;
}

void adv_nvme_listeners_stop(struct adv_nvme_listeners *l)
{
	adv_list_for_each_safe(struct listener, listener, &l->ids, link) {
		rdma_destroy_id(listener->id);
		adv_list_del(&listener->link);
		free(listener);
	}
}

void adv_nvme_listeners_close(struct adv_nvme_listeners *l)
{
	adv_nvme_listeners_stop(l);
	if (l->channel)
		rdma_destroy_event_channel(l->channel);
	l->channel = NULL;
}
