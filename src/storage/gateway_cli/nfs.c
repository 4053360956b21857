/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway nfs: the command. */
#include <stdlib.h>

#include "storage/gateway_cli/command.h"
#include "storage/gateway_cli/options.h"
#include "storage/nfs_gateway/reverse.h"
#include "storage/gateway/memory.h"
#include "storage/gateway/serve.h"

#define RDMA_PORT "20049"
#define TCP_PORT  "2049"

static bool create_nfs_buffers(void *user, struct adv_kit_device *d)
{
	d->user = adv_gateway_buffers_create(user, d->pd, ADV_NFS_BUFFER_MAX);
	return d->user != NULL;
}

static void nfs_device_gone(void *user, struct adv_kit_device *d)
{
	adv_gateway_buffers_destroy(d->user);
}

static void reverse_device_gone(void *user, struct adv_kit_device *d)
{
	adv_nfs_reverse_close_device(user, d);
	nfs_device_gone(user, d);
}

static void accept_nfs_request(void *user, struct adv_kit_device *d, struct rdma_cm_id *id,
			       const struct rdma_conn_param *param)
{
	adv_nfs_session_accept(user, d, id, param);
}

static const struct adv_connections_ops forward_ops = {
	create_nfs_buffers,  nfs_device_gone,	  accept_nfs_request,
	adv_gateway_refused, adv_gateway_changed, ADV_GATEWAY_PATIENCE_MS};
static const struct adv_connections_ops reverse_ops = {
	create_nfs_buffers,  reverse_device_gone, NULL,
	adv_gateway_refused, adv_gateway_changed, ADV_GATEWAY_PATIENCE_MS};

static const struct adv_gateway_service forward = {"NFS", &forward_ops, NULL, adv_nfs_close_all};
static const struct adv_gateway_service reverse = {"NFS", &reverse_ops, adv_nfs_reverse_accept,
						   adv_nfs_reverse_close_all};

int adv_gateway_nfs_main(int argc, char **argv)
{
	struct adv_gateway_options o;
	struct adv_kit_address at, to;
	struct adv_gateway g = {0};

	adv_options_parse(&adv_gateway_nfs_syntax, argc, argv, &o);
	if (!adv_kit_address_parse(o.listen, o.reverse ? TCP_PORT : RDMA_PORT, true, &at) ||
	    !adv_kit_address_parse(o.to, o.reverse ? RDMA_PORT : TCP_PORT, false, &to))
		return EXIT_FAILURE;
	g.buffer_bytes = o.buffer_bytes;
	g.session_max = o.connections;
	g.timeout_ms = o.timeout_ms;
	g.control = o.control;
	return adv_gateway_serve(&g, o.reverse ? &reverse : &forward, &at, &to);
}
