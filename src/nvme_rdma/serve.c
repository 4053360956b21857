/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme serve: the command. */
#include <argp.h>

#include "nvme_rdma/command.h"
#include "nvme_rdma/options.h"

int adv_nvme_serve_main(int argc, char **argv)
{
	static struct adv_nvme_serve_options o;

	argp_parse(&adv_nvme_serve_argp, argc, argv, 0, NULL, &o);
	return adv_nvme_serve(&o.config);
}
