// Runs the module. In the folder it loads the glue beside it; in the one file the glue stands before this text.

self.fabricostAnswerer = async (bytes) => {
  if (!self.fabricostModule) importScripts('fabricost.js');
  const module = await self.fabricostModule({ wasmBinary: bytes });
  return (request) => {
    const size = module.lengthBytesUTF8(request) + 1;
    const at = module._malloc(size);
    module.stringToUTF8(request, at, size);
    return module.UTF8ToString(module._fabricost_answer(at));
  };
};

if (typeof importScripts === 'function') {
  let answer = null;
  self.postMessage({ here: true });
  self.onmessage = async ({ data }) => {
    if (data.bytes) {
      try {
        answer = await self.fabricostAnswerer(data.bytes);
        self.postMessage({ loaded: true });
      } catch (fault) {
        self.postMessage({ unloaded: String(fault) });
      }
      return;
    }
    try {
      self.postMessage({ id: data.id, answer: answer(data.request) });
    } catch (fault) {
      self.postMessage({ id: data.id, fault: `the model stopped: ${fault}` });
    }
  };
}
