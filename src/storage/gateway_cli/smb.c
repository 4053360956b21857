/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway smb: the command. */
#include <stdlib.h>

#include "storage/gateway_cli/command.h"
#include "storage/gateway_cli/options.h"
#include "storage/gateway/memory.h"
#include "storage/gateway/serve.h"
#include "storage/smb_gateway/memory.h"
#include "storage/smb_gateway/session.h"

#define SMB_PORT "445"

enum { BUFFERS_LEAST = 16 << 20 }; /* bytes; the longest message fits */

static bool create_smb_buffers(void *user, struct adv_kit_device *d)
{
	d->user = adv_gateway_buffers_create(user, d->pd, ADV_SMB_MESSAGE_MAX);
	return d->user != NULL;
}

static void smb_device_gone(void *user, struct adv_kit_device *d)
{
	adv_gateway_buffers_destroy(d->user);
}

static void accept_smb_request(void *user, struct adv_kit_device *d, struct rdma_cm_id *id,
			       const struct rdma_conn_param *param)
{
	adv_smb_session_accept(user, d, id, param);
}

static const struct adv_connections_ops forward_ops = {
	create_smb_buffers,  smb_device_gone,	  accept_smb_request,
	adv_gateway_refused, adv_gateway_changed, ADV_GATEWAY_PATIENCE_MS};
static const struct adv_connections_ops reverse_ops = {
	create_smb_buffers,  smb_device_gone,	  NULL,
	adv_gateway_refused, adv_gateway_changed, ADV_GATEWAY_PATIENCE_MS};

static const struct adv_gateway_service forward = {"SMB", &forward_ops, NULL, adv_smb_close_all};
static const struct adv_gateway_service reverse = {"SMB", &reverse_ops, adv_smb_reverse_accept,
						   adv_smb_close_all};

int adv_gateway_smb_main(int argc, char **argv)
{
	struct adv_gateway_options o;
	struct adv_kit_address at, to;
	struct adv_gateway g = {0};

	adv_options_parse(&adv_gateway_smb_syntax, argc, argv, &o);
	if (!adv_kit_address_parse(o.listen, SMB_PORT, true, &at) ||
	    !adv_kit_address_parse(o.to, SMB_PORT, false, &to))
		return EXIT_FAILURE;
	g.buffer_bytes = o.buffer_bytes > BUFFERS_LEAST ? o.buffer_bytes : BUFFERS_LEAST;
	g.session_max = o.connections;
	g.timeout_ms = o.timeout_ms;
	g.control = o.control;
	return adv_gateway_serve(&g, o.reverse ? &reverse : &forward, &at, &to);
}
