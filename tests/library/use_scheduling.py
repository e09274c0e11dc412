"""Uses libcephzone-scheduling by ctypes, as a scheduler in Python would: use_scheduling.py LIBRARY CLUSTER.JSON."""
import ctypes
import json
import sys
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

INVALID, NOT_FOUND, STALE, REFUSED, WAITING = -1, -2, -4, -5, 1
VOLUME_BINDING, JSON = 1, 2


class Failed(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Library:
    """What is called, with its types; the functions that can fail raise Failed."""

    PLAIN = {
        'czs_version': (c_char_p, []), 'czs_text_free': (None, [c_void_p]),
        'czs_cluster_free': (None, [c_void_p]), 'czs_cluster_count': (c_size_t, [c_void_p, c_char_p]),
        'czs_cluster_generation': (c_uint64, [c_void_p]),
        'czs_change_free': (None, [c_void_p]), 'czs_check_free': (None, [c_void_p]),
        'czs_check_count': (c_size_t, [c_void_p]), 'czs_check_fitting': (c_size_t, [c_void_p]),
        'czs_check_node': (c_char_p, [c_void_p, c_size_t]), 'czs_check_fits': (c_int, [c_void_p, c_size_t]),
        'czs_check_score': (c_int64, [c_void_p, c_size_t]), 'czs_check_plugins': (c_uint, [c_void_p]),
        'czs_check_reason': (c_char_p, [c_void_p, c_size_t, c_size_t]),
        'czs_binding_free': (None, [c_void_p]), 'czs_binding_writes': (c_size_t, [c_void_p]),
        'czs_write_name': (c_char_p, [c_void_p, c_size_t]), 'czs_write_patch': (c_char_p, [c_void_p, c_size_t]),
    }
    FAILING = {
        'czs_cluster_new': [c_char_p, c_void_p], 'czs_cluster_put': [c_void_p, c_char_p, c_size_t],
        'czs_change_put': [c_char_p, c_size_t, c_void_p], 'czs_change_apply': [c_void_p, c_void_p],
        'czs_change_may_help': [c_void_p, c_void_p, c_char_p, c_char_p, c_uint],
        'czs_check_pod': [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p],
        'czs_assume': [c_void_p, c_void_p, c_size_t, c_void_p], 'czs_bound': [c_void_p, c_void_p],
        'czs_revert': [c_void_p, c_void_p],
        'czs_explain_pod': [c_void_p, c_char_p, c_char_p, c_int, c_void_p, c_void_p],
    }

    def __init__(self, path):
        self.loaded = ctypes.CDLL(path)
        for name, (result, arguments) in self.PLAIN.items():
            function = getattr(self.loaded, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name[4:], function)
        for name, arguments in self.FAILING.items():
            setattr(self, name[4:], self.raising(name, arguments))

    def raising(self, name, arguments):
        function = getattr(self.loaded, name)
        function.restype, function.argtypes = c_int, arguments + [c_void_p]

        def call(*values):
            error = c_void_p()
            status = function(*values, byref(error))
            if status < 0:
                text = ctypes.string_at(error).decode()
                self.text_free(error)
                raise Failed(status, text)
            return status
        return call


def refused(status, part, call, *values):
    try:
        call(*values)
    except Failed as failure:
        assert failure.status == status and part in str(failure), (failure.status, str(failure))
    else:
        raise AssertionError(f'{part}: was not refused')


def check(library, cluster, pod):
    handle = c_void_p()
    library.check_pod(cluster, b'shop', pod, None, byref(handle))
    return handle


def put(library, cluster, item):
    text = json.dumps(item).encode()
    library.cluster_put(cluster, text, len(text))


def main(path, dump):
    library = Library(path)
    cluster = c_void_p()
    library.cluster_new(b'1.37', byref(cluster))
    with open(dump, 'rb') as file:
        text = file.read()
    library.cluster_put(cluster, text, len(text))
    assert library.cluster_count(cluster, b'Node') == 3

    verdict = check(library, cluster, b'web-0')
    rows = range(library.check_count(verdict))
    assert [library.check_node(verdict, i) for i in rows if library.check_fits(verdict, i)] == [b'a1']
    assert b"didn't find" in library.check_reason(verdict, 1, 0)
    assert library.check_plugins(verdict) == VOLUME_BINDING

    change = c_void_p()
    node = json.dumps({'kind': 'Node', 'metadata': {'name': 'c1'}}).encode()
    library.change_put(node, len(node), byref(change))
    assert library.change_may_help(cluster, change, b'shop', b'web-0', VOLUME_BINDING) == 1
    library.change_apply(cluster, change)
    library.change_free(change)

    binding = c_void_p()
    refused(STALE, 'check the pod again', library.assume, cluster, verdict, 0, byref(binding))
    library.check_free(verdict)
    verdict = check(library, cluster, b'web-0')
    library.assume(cluster, verdict, 0, byref(binding))
    patches = {library.write_name(binding, i): json.loads(library.write_patch(binding, i))
               for i in range(library.binding_writes(binding))}
    assert patches[b'local-a1']['spec']['claimRef']['name'] == 'data-web-0'
    assert library.bound(cluster, binding) == WAITING
    library.revert(cluster, binding)
    refused(REFUSED, 'reverted', library.bound, cluster, binding)
    library.binding_free(binding)
    library.check_free(verdict)

    explanation, fitting = c_void_p(), c_size_t()
    library.explain_pod(cluster, b'shop', b'web-1', JSON, byref(explanation), byref(fitting))
    assert json.loads(ctypes.string_at(explanation))['fitting'] == fitting.value == 2
    library.text_free(explanation)

    refused(INVALID, 'line 1', library.cluster_put, cluster, b'{', 1)
    refused(NOT_FOUND, 'web-9', check, library, cluster, b'web-9')
    library.cluster_free(cluster)
    print(library.version().decode(), 'works from Python')


if __name__ == '__main__':
    main(*sys.argv[1:])
