/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adv_redirect_path() decides by their text which paths are redirected. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/array.h"
#include "runtime/preload/redirect.h"

struct expected {
	const char *path;
	const char *folder; /* NULL: the path is not redirected */
	const char *rest;
};

static void finds_ours(void **state)
{
	static const struct expected paths[] = {
		{"/sys/class/infiniband", "/sys/class/infiniband", ""},
		{"/sys/class/infiniband/", "/sys/class/infiniband", ""},
		{"/sys/class/infiniband/adverb0", "/sys/class/infiniband", "adverb0"},
		{"//sys///class/./infiniband//adverb0/", "/sys/class/infiniband", "adverb0/"},
		{"/../sys/class/infiniband", "/sys/class/infiniband", ""},
		{"/dev/../sys/class/net/../infiniband/x", "/sys/class/infiniband", "x"},
		{"/sys/class/infiniband/../infiniband_verbs", "/sys/class/infiniband_verbs", ""},
		{"/sys/class/infiniband/a/../../b", "/sys/class/infiniband", "a/../../b"},
		{"/sys/class/infiniband_verbs/abi_version", "/sys/class/infiniband_verbs",
		 "abi_version"},
		{"/sys/devices/adverb/vendor", "/sys/devices/adverb", "vendor"},
		{"/dev/infiniband/uverbs0", "/dev/infiniband", "uverbs0"},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(paths); i++) {
		struct adv_redirect r;

		if (adv_redirect_path(paths[i].path, &r) != ADV_REDIRECT_OURS)
			fail_msg("%s: not found", paths[i].path);
		assert_string_equal(r.folder, paths[i].folder);
		assert_string_equal(r.rest, paths[i].rest);
		assert_null(r.interface);
	}
}

static void leaves_others(void **state)
{
	static const char *const paths[] = {
		"",
		"sys/class/infiniband",
		"/sys/class/infinibandx",
		"/sys/class/infiniban",
		"/sys/class/infiniband_",
		"/sys/devices/adverb0",
		"/sys/devices/virtual/adverb",
		"/dev/null",
		"/dev/infinibandx/uverbs0",
		"/proc/self/fd/3",
		"/sys/class/net/eth0",
		"/sys/class/net/eth0/device",
		"/sys/class/net/eth0/infiniband",
		/* After a link, ".." leads elsewhere. */
		"/sys/class/net/eth0/../infiniband",
		"/sys/class/net/eth0/device/../device/infiniband",
		"/home/sys/class/infiniband",
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(paths); i++) {
		struct adv_redirect r;

		/* The caller handles relative paths. */
		if (paths[i][0] == '/' && adv_redirect_path(paths[i], &r) != ADV_REDIRECT_NONE)
			fail_msg("%s matches, but is not ours", paths[i]);
	}
}

static void knows_what_is_above(void **state)
{
	static const char *const paths[] = {
		"/",	  "//",	     "/sys",	     "/sys/class/",
		"/dev/.", "/dev/..", "/sys/devices", "/sys/class/net/.."};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(paths); i++) {
		struct adv_redirect r;

		assert_int_equal(adv_redirect_path(paths[i], &r), ADV_REDIRECT_ABOVE);
	}
}

/* A path through a redirected folder is shortened, because the kernel may have no such folder. */
static void passes_through(void **state)
{
	static const struct expected paths[] = {
		{"/sys/class/infiniband/..", "/sys/class", ""},
		{"/sys/class/infiniband/../net/lo/x", "/sys/class/net", "lo/x"},
		{"/sys/devices/adverb/./../virtual", "/sys/devices", "virtual"},
		{"/dev/infiniband//../../", "", ""},
		{"/dev/infiniband/../null", "/dev", "null"},
		{"/dev/infiniband/../../sys/class/net/lo/../../x", "/sys/class/net", "lo/../../x"},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(paths); i++) {
		struct adv_redirect r;

		assert_int_equal(adv_redirect_path(paths[i].path, &r), ADV_REDIRECT_THROUGH);
		assert_string_equal(r.folder, paths[i].folder);
		assert_string_equal(r.rest, paths[i].rest);
	}
}

static void finds_interfaces(void **state)
{
	struct adv_redirect r;

	assert_int_equal(adv_redirect_path("/sys/class/net/eth0/device/infiniband/adverb0/x", &r),
			 ADV_REDIRECT_OURS);
	assert_string_equal(r.folder, "/infiniband");
	assert_string_equal(r.rest, "adverb0/x");
	assert_int_equal(r.interface_len, 4);
	assert_memory_equal(r.interface, "eth0", 4);
	assert_int_equal(adv_redirect_path("/sys/class/net/eth0/device/infiniband_verbs", &r),
			 ADV_REDIRECT_OURS);
	assert_string_equal(r.folder, "/infiniband_verbs");
}

static void knows_nodes(void **state)
{
	static const struct {
		const char *path;
		bool device;
	} paths[] = {
		{"/dev/infiniband/uverbs0", true},    {"/dev/infiniband/uverbs12", true},
		{"/dev//infiniband/./rdma_cm", true}, {"/dev/infiniband/uverbs", false},
		{"/dev/infiniband/uverbs0/", false},  {"/dev/infiniband/uverbs0x", false},
		{"/dev/infiniband", false},	      {"/sys/class/infiniband/uverbs0", false},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(paths); i++) {
		struct adv_redirect r;

		assert_int_equal(adv_redirect_path(paths[i].path, &r), ADV_REDIRECT_OURS);
		if (r.device != paths[i].device)
			fail_msg("%s: taken for %s", paths[i].path,
				 r.device ? "a device node" : "no device node");
	}
}

static void goes_back(void **state)
{
	static const char *const none[] = {
		"/tmp",
		"/tmp/adverb-sysfs",
		"/tmp/adverb-sysfs-",
		"/tmp/adverb-sysfs-0",
		"/tmp/adverb-sysfs-0-",
		"/tmp/adverb-sysfs-x-1/sys",
		"/tmp/adverb-sysfs-0-12x/sys",
		"tmp/adverb-sysfs-0-12/sys",
	};

	size_t len = 0;

	assert_string_equal(adv_redirect_reverse("/tmp/adverb-sysfs-0-12/sys/class", &len),
			    "/sys/class");
	assert_int_equal(len, strlen("/tmp/adverb-sysfs-0-12"));
	assert_string_equal(adv_redirect_reverse("/a/b/adverb-sysfs-1000-4026531840", &len), "/");
	for (size_t i = 0; i < ADV_ARRAY_SIZE(none); i++)
		assert_null(adv_redirect_reverse(none[i], &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_ours),	    cmocka_unit_test(leaves_others),
		cmocka_unit_test(passes_through),   cmocka_unit_test(knows_what_is_above),
		cmocka_unit_test(finds_interfaces), cmocka_unit_test(knows_nodes),
		cmocka_unit_test(goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
