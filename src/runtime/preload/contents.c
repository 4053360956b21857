/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text formats are those of the Linux kernel: drivers/infiniband/core/sysfs.c and uverbs_main.c. */
#include "runtime/preload/contents.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/sys.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/hw_counters.h"
#include "runtime/preload/uverbs_node.h"

#define PATH_ROOM 256

#define DEVICE	  "sys/devices/adverb"
#define IBDEV	  DEVICE "/infiniband/" ADV_DEVICE_NAME
#define PORT	  IBDEV "/ports/1"
#define UPWARDS	  "../../.."

/* ---- folders ---- */

static void write_folders(struct adv_files *f)
{
	static const char *const folders[] = {
		"sys",
		"sys/class",
		"sys/class/infiniband",
		"sys/class/infiniband_verbs",
		"sys/devices",
		DEVICE,
		DEVICE "/infiniband",
		DEVICE "/infiniband_verbs",
		DEVICE "/net",
		IBDEV,
		IBDEV "/ports",
		PORT,
		PORT "/gids",
		PORT "/pkeys",
		PORT "/gid_attrs",
		PORT "/gid_attrs/types",
		PORT "/gid_attrs/ndevs",
		PORT "/counters",
		PORT "/hw_counters",
		"dev",
		"dev/infiniband",
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(folders); i++)
		adv_files_folder(f, folders[i]);
}

/* ---- the kernel's files in the same folders ---- */

struct beside {
	struct adv_files *f;
	const char *folder; /* relative to "/" and to the root of the tree */
};

/* Writes a link for a file of the kernel. If the file is a relative link, copies it: its target is
 * mirrored too. Otherwise makes a link to the file. */
static void mirror_entry(void *user, const char *name)
{
	const struct beside *b = user;
	char path[PATH_ROOM], mine[PATH_ROOM], target[PATH_ROOM];
	struct stat st;
	long n;

	if (snprintf(path, sizeof(path), "/%s/%s", b->folder, name) >= (int)sizeof(path))
		return;
	snprintf(mine, sizeof(mine), "%s", path + 1);
	/* The files that Adverb has written are not replaced. */
	if (syscall(SYS_newfstatat, b->f->root, mine, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISLNK(st.st_mode))
		return;
	n = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target) - 1);
	if (n > 0)
		target[n] = 0;
	adv_files_link(b->f, mine, n > 0 && target[0] != '/' ? target : path);
}

static void mirror_folder(struct adv_files *f, const char *folder)
{
	struct beside b = {f, folder};
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "/%s", folder);
	adv_files_list(AT_FDCWD, path, mirror_entry, &b);
}

struct names {
	const char *folder;
	const char *ours[2];
};

static bool ours_or_kernels(const void *user, const char *name)
{
	const struct names *n = user;
	char path[PATH_ROOM];

	for (int i = 0; i < 2; i++)
		if (n->ours[i] && strcmp(name, n->ours[i]) == 0)
			return true;
	snprintf(path, sizeof(path), "/%s/%s", n->folder, name);
	return syscall(SYS_readlinkat, AT_FDCWD, path, path, 1) >= 0 ||
	       syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static void write_beside(struct adv_files *f, const char *uverbs)
{
	const struct names class = {"sys/class/infiniband", {ADV_DEVICE_NAME, NULL}};
	const struct names verbs = {"sys/class/infiniband_verbs", {uverbs, "abi_version"}};
	const struct names nodes = {"dev/infiniband", {uverbs, "rdma_cm"}};

	adv_files_sweep(f, class.folder, ours_or_kernels, &class);
	adv_files_sweep(f, verbs.folder, ours_or_kernels, &verbs);
	adv_files_sweep(f, nodes.folder, ours_or_kernels, &nodes);
	mirror_folder(f, "sys");
	mirror_folder(f, "sys/class");
	mirror_folder(f, "sys/devices");
	mirror_folder(f, class.folder);
	mirror_folder(f, verbs.folder);
	mirror_folder(f, nodes.folder);
}

/* ---- the device ---- */

static void read_line(const char *path, char *line, size_t len)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : adv_sys_read(fd, line, len - 1);

	if (fd >= 0)
		adv_sys_close(fd);
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
}

/* Converts "0-3,6" to a mask of 32-bit words, the highest first: "0000004f". */
static void write_cpu_mask(const char *list, char *mask, size_t len)
{
	uint32_t words[64] = {0};
	int top = 0;

	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long i = first; i <= last && i < 64 * 32; i++) {
			words[i / 32] |= 1u << i % 32;
			top = (int)(i / 32) > top ? (int)(i / 32) : top;
		}
		if (*end != ',')
			break;
		list = end + 1;
	}
	*mask = 0;
	for (int i = top; i >= 0; i--) {
		size_t at = strlen(mask);

		snprintf(mask + at, len - at, "%08x%s", words[i], i ? "," : "");
	}
}

static void write_guid(struct adv_files *f, const char *path, uint64_t guid)
{
	uint8_t b[8];

	memcpy(b, &guid, sizeof(b));
	adv_files_text(f, path, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", b[0], b[1], b[2], b[3],
		       b[4], b[5], b[6], b[7]);
}

static bool wanted_interface(const void *user, const char *name)
{
	const struct adv_gid_table *t = user;

	for (uint32_t i = 0; i < t->count; i++)
		if (strncmp(t->entry[i].ifname, name, sizeof(t->entry[i].ifname)) == 0)
			return true;
	return false;
}

/* Writes the files that a card has in the folder of its PCI device. The NUMA node is -1: no node is
 * nearer than another. */
static void write_device(struct adv_files *f, const struct adv_gid_table *t)
{
	char list[512], mask[64 * 9 + 1];

	read_line("/sys/devices/system/cpu/online", list, sizeof(list));
	write_cpu_mask(list, mask, sizeof(mask));
	adv_files_text(f, DEVICE "/vendor", "0x%04x\n", ADV_VENDOR_ID & 0xffff);
	adv_files_text(f, DEVICE "/device", "0x%04x\n", ADV_VENDOR_PART_ID);
	adv_files_text(f, DEVICE "/numa_node", "-1\n");
	adv_files_text(f, DEVICE "/local_cpus", "%s\n", mask);
	adv_files_text(f, DEVICE "/local_cpulist", "%s\n", list);
	adv_files_sweep(f, DEVICE "/net", wanted_interface, t);
	for (uint32_t i = 0; i < t->count; i++) {
		char path[PATH_ROOM], target[PATH_ROOM];

		snprintf(path, sizeof(path), DEVICE "/net/%.16s", t->entry[i].ifname);
		snprintf(target, sizeof(target), "/sys/class/net/%.16s", t->entry[i].ifname);
		adv_files_link(f, path, target);
	}
}

static void write_ibdev(struct adv_files *f, const struct adv_gid_table *t)
{
	char host[65] = "";

	read_line("/proc/sys/kernel/hostname", host, sizeof(host));
	adv_files_text(f, IBDEV "/node_type",
		       adv_transport() == ADV_TRANSPORT_IWARP ? "4: RNIC\n" : "1: CA\n");
	write_guid(f, IBDEV "/node_guid", t->node_guid);
	write_guid(f, IBDEV "/sys_image_guid", t->node_guid);
	adv_files_text(f, IBDEV "/node_desc", "%.48s " ADV_DEVICE_NAME "\n", host);
	adv_files_text(f, IBDEV "/fw_ver", ADV_FW_VER "\n");
	adv_files_text(f, IBDEV "/hca_type", "adverb\n");
	adv_files_text(f, IBDEV "/board_id", "adverb\n");
	adv_files_text(f, IBDEV "/hw_rev", "%x\n", ADV_HW_VER);
	adv_files_link(f, IBDEV "/device", "../../../adverb");
	adv_files_link(f, IBDEV "/subsystem", UPWARDS "/../class/infiniband");
	adv_files_link(f, "sys/class/infiniband/" ADV_DEVICE_NAME,
		       "../../devices/adverb/infiniband/" ADV_DEVICE_NAME);
}

static void write_uverbs(struct adv_files *f, const char *name)
{
	char path[PATH_ROOM], target[PATH_ROOM];
	unsigned minor = adv_uverbs_node_minor(name);

	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s", name);
	adv_files_folder(f, path);
	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s/ibdev", name);
	adv_files_text(f, path, ADV_DEVICE_NAME "\n");
	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s/dev", name);
	adv_files_text(f, path, "%u:%u\n", ADV_UVERBS_NODE_MAJOR, minor);
	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s/abi_version", name);
	adv_files_text(f, path, "1\n");
	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s/device", name);
	adv_files_link(f, path, "../../../adverb");
	snprintf(path, sizeof(path), DEVICE "/infiniband_verbs/%s/subsystem", name);
	adv_files_link(f, path, UPWARDS "/../class/infiniband_verbs");
	snprintf(path, sizeof(path), "sys/class/infiniband_verbs/%s", name);
	snprintf(target, sizeof(target), "../../devices/adverb/infiniband_verbs/%s", name);
	adv_files_link(f, path, target);
	adv_files_text(f, "sys/class/infiniband_verbs/abi_version", "6\n");
	/* The file is for listings only: lookup.c handles access to the node. */
	snprintf(path, sizeof(path), "dev/infiniband/%s", name);
	adv_files_link(f, path, "/dev/null");
	adv_files_link(f, "dev/infiniband/rdma_cm", "/dev/null");
}

/* ---- the port ---- */

static void write_rate(struct adv_files *f, uint32_t mbps)
{
	static const struct {
		uint8_t code;
		const char *name;
	} speeds[] = {{1, ""}, {8, " FDR10"}, {32, " EDR"}, {64, " HDR"}, {128, " NDR"}};
	uint8_t width, speed;
	unsigned lanes, i = 0, tenths = adv_identity_shown_mbps(mbps) / 100;

	adv_identity_speed(mbps, &width, &speed);
	while (i < ADV_ARRAY_SIZE(speeds) - 1 && speeds[i].code != speed)
		i++;
	lanes = width == 2 ? 4 : width == 16 ? 2 : 1;
	adv_files_text(f, PORT "/rate", "%u%s Gb/sec (%uX%s)\n", tenths / 10,
		       tenths % 10 ? ".5" : "", lanes, speeds[i].name);
}

static bool wanted_pkey(const void *user, const char *name)
{
	const struct adv_pkey_table *t = user;

	return strtoul(name, NULL, 10) < t->count;
}

static void write_pkeys(struct adv_files *f, const struct adv_pkey_table *t)
{
	adv_files_sweep(f, PORT "/pkeys", wanted_pkey, t);
	for (uint32_t i = 0; i < t->count; i++) {
		char path[PATH_ROOM];

		snprintf(path, sizeof(path), PORT "/pkeys/%u", i);
		adv_files_text(f, path, "0x%04x\n", t->pkey[i]);
	}
}

static void write_port(struct adv_files *f, const struct adv_gid_table *t)
{
	adv_files_text(f, PORT "/state", t->port_active ? "4: ACTIVE\n" : "1: DOWN\n");
	adv_files_text(f, PORT "/phys_state", t->port_active ? "%u: LinkUp\n" : "%u: Disabled\n",
		       t->port_active ? ADV_PHYS_LINK_UP : ADV_PHYS_DISABLED);
	write_rate(f, t->count ? t->entry[0].speed_mbps : 0);
	adv_files_text(f, PORT "/link_layer", "Ethernet\n");
	adv_files_text(f, PORT "/lid", "0x0\n");
	adv_files_text(f, PORT "/lid_mask_count", "0\n");
	adv_files_text(f, PORT "/sm_lid", "0x0\n");
	adv_files_text(f, PORT "/sm_sl", "0\n");
	adv_files_text(f, PORT "/cap_mask", "0x%08x\n", ADV_PORT_CAP_FLAGS);
	write_pkeys(f, &t->pkeys);
}

static bool wanted_index(const void *user, const char *name)
{
	const struct adv_gid_table *t = user;

	return strtoul(name, NULL, 10) < t->count;
}

static void write_gid(struct adv_files *f, uint32_t index, const struct adv_gid_entry *e)
{
	char path[PATH_ROOM], text[40];

	for (int i = 0; i < 8; i++)
		snprintf(text + 5 * i, 6, "%02x%02x%s", e->gid.raw[2 * i], e->gid.raw[2 * i + 1],
			 i < 7 ? ":" : "");
	snprintf(path, sizeof(path), PORT "/gids/%u", index);
	adv_files_text(f, path, "%s\n", text);
	snprintf(path, sizeof(path), PORT "/gid_attrs/types/%u", index);
	adv_files_text(f, path, e->type == ADV_GID_ROCE_V1 ? "IB/RoCE v1\n" : "RoCE v2\n");
	snprintf(path, sizeof(path), PORT "/gid_attrs/ndevs/%u", index);
	adv_files_text(f, path, "%.16s\n", e->ifname);
}

static void write_gids(struct adv_files *f, const struct adv_gid_table *all)
{
	struct adv_gid_table *t = malloc(sizeof(*t));

	if (!t)
		return;
	memcpy(t, all, sizeof(*t));
	if (adv_transport() == ADV_TRANSPORT_IWARP)
		adv_gid_table_to_mac(t);
	adv_files_sweep(f, PORT "/gids", wanted_index, t);
	adv_files_sweep(f, PORT "/gid_attrs/types", wanted_index, t);
	adv_files_sweep(f, PORT "/gid_attrs/ndevs", wanted_index, t);
	for (uint32_t i = 0; i < t->count; i++)
		write_gid(f, i, &t->entry[i]);
	free(t);
}

/* ---- counters ---- */

static void write_counters(struct adv_files *f, const struct adv_counters *c)
{
	char path[PATH_ROOM];
	const char *name;
	uint64_t value;

	for (unsigned i = 0; (name = adv_hw_counter_of_port(c, i, &value)); i++) {
		snprintf(path, sizeof(path), PORT "/counters/%s", name);
		adv_files_text(f, path, "%" PRIu64 "\n", value);
	}
	for (unsigned i = 0; (name = adv_hw_counter(c, i, &value)); i++) {
		snprintf(path, sizeof(path), PORT "/hw_counters/%s", name);
		adv_files_text(f, path, "%" PRIu64 "\n", value);
	}
}

void adv_contents_write(struct adv_files *f, const struct adv_contents *c)
{
	char uverbs[ADV_UVERBS_NAME_LEN];

	adv_uverbs_name(uverbs);
	write_folders(f);
	write_device(f, &c->gids);
	write_ibdev(f, &c->gids);
	write_uverbs(f, uverbs);
	write_port(f, &c->gids);
	write_gids(f, &c->gids);
	if (c->counted)
		write_counters(f, &c->counters);
	write_beside(f, uverbs);
}
