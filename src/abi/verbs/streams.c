/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/verbs/streams.h"
#include "abi/verbs/objects.h"

ADV_EXPORT int adv_ibv_attach_stream(struct ibv_context *context, uint32_t qp_num, int fd,
				     const struct adv_rdmap_config *config)
{
	struct adv_device *d = adv_ibv_context_of(context)->device;
	int err = adv_device_is_foreign(d) ? ADV_EFOREIGN
					   : adv_device_attach_stream(d, qp_num, fd, config);

	return err ? adv_ibv_refuse(err, "a connection for queue pair 0x%06x", qp_num) : 0;
}
