/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/error_log.h"

#include <string.h>

void adv_nvme_controller_add_error(struct adv_nvme_controller *c,
				   const struct adv_nvme_request *request, uint16_t status)
{
	struct adv_nvme_error *e = &c->errors[c->error_count % ADV_NVME_ERRORS];

	memset(e, 0, sizeof(*e));
	e->count = ++c->error_count;
	e->qid = request->queue->id;
	e->cid = request->command.id;
	e->status = status;
	e->location = ADV_NVME_NOT_A_FIELD;
	if (request->command.opcode == ADV_NVME_OPCODE_FABRICS)
		return;
	e->nsid = request->command.nsid;
	if (request->queue->id != 0)
		e->lba = adv_nvme_command_slba(&request->command);
}
