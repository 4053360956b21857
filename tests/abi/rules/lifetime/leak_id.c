/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Never destroys an id. */
#include "../lab_cm.h"

int main(void)
{
	struct rdma_cm_id *id;
	struct lab_cm cm = {0};

	lab_cm_open(&cm);
	lab_need(!rdma_create_id(cm.channel, &id, NULL, RDMA_PS_TCP), "id"); /* finds leak: id */
	lab_cm_disconnect(&cm);
	if (MENDED)
		lab_need(!rdma_destroy_id(id), "rdma_destroy_id");
	lab_cm_close(&cm);
	return 0;
}
