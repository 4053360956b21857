/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The statistics of a target for its control socket. */
#ifndef ADV_STORAGE_NVME_SERVER_STAT_REPLY_H
#define ADV_STORAGE_NVME_SERVER_STAT_REPLY_H

#include "storage/nvme_server/subsystems.h"

/* Sends the statistics to a client. A client that does not read gets none. */
void adv_nvme_stat_send(struct adv_nvme_subsystems *s, int fd);

#endif
